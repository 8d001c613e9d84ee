import { advance, type Effect } from '../domain/advance.ts'
import { Draft, type Checkpoint } from '../domain/draft.ts'
import type { RunState } from '../domain/run-state.ts'
import { hasEnded } from '../domain/run.ts'
import { writeCheckpoint } from '../store/checkpoint.ts'
import { lockRun } from '../store/lock-run.ts'
import { findRunHold } from '../store/runs.ts'
import type { EngineContext } from './engine-context.ts'

/** Another worker holds the run, or it is gone: what is in hand is thrown away, and the job must fail, not succeed. */
export class LeaseLostError extends Error {
  constructor(runId: string) {
    super(`The lease of run ${runId} is gone.`)
    this.name = 'LeaseLostError'
  }
}

export interface Committed {
  readonly state: RunState
  readonly effect: Effect
  readonly checkpoint: Checkpoint
}

/**
 * Stores a change of a run that this worker holds, together with all that follows from it by thinking alone. A cancel
 * that was stored meanwhile makes the fence refuse: then the same change is thought through again, knowing of it.
 */
export async function commit(
  context: EngineContext,
  state: RunState,
  change: (draft: Draft) => void,
): Promise<Committed> {
  for (;;) {
    const draft = new Draft(state, context)
    // A worker that gets this far is not being killed by the run.
    draft.changeRun({ fruitlessAttempts: 0 })
    change(draft)
    const effect = advance(draft)
    const checkpoint = draft.checkpoint()
    if (await store(context, checkpoint)) return { state: draft.state, effect, checkpoint }
    state = await refreshCancel(context, state)
  }
}

/** Gives the run to whoever takes it next: neither a cancel nor a failed attempt, and nothing is waited for. */
export async function handBack(context: EngineContext, state: RunState): Promise<void> {
  for (;;) {
    const draft = new Draft(state, context)
    draft.changeRun({ lease: null, workerId: null, fruitlessAttempts: 0 })
    if (await writeCheckpoint(context.db, draft.checkpoint(), { wake: true })) return
    state = await refreshCancel(context, state)
  }
}

/** The state with the cancel that made the fence refuse; throws where it was not a cancel. */
async function refreshCancel(context: EngineContext, state: RunState): Promise<RunState> {
  const hold = await findRunHold(context.db, state.run.id)
  if (hold?.lease !== state.run.lease || hold.nextSeq !== state.run.nextSeq) throw new LeaseLostError(state.run.id)
  return { ...state, run: { ...state.run, cancelRequestedAt: hold.cancelRequestedAt } }
}

/** What changes the conversation too locks both before anything is read: a run that ends lets go of it. */
export async function store(context: Pick<EngineContext, 'db' | 'hub'>, checkpoint: Checkpoint): Promise<boolean> {
  const stored =
    hasEnded(checkpoint.after.status) || checkpoint.context
      ? await context.db.transaction().execute(async (trx) => {
          await lockRun(trx, checkpoint.after.id)
          return writeCheckpoint(trx, checkpoint)
        })
      : await writeCheckpoint(context.db, checkpoint)
  if (stored) context.hub.stored(checkpoint)
  return stored
}
