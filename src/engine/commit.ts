import type { Transaction } from 'kysely'

import { advance, type Effect } from '../domain/advance.ts'
import { Draft, type Checkpoint } from '../domain/draft.ts'
import type { RunState } from '../domain/run-state.ts'
import { hasEnded } from '../domain/run.ts'
import type { ToolCall } from '../domain/tool-call.ts'
import { announceEnd } from '../live/announce-end.ts'
import { isCheckpointStored, writeCheckpoint, writeLoneEnd } from '../store/checkpoint.ts'
import { CheckpointRefusedError, storeEnd } from '../store/end-run.ts'
import { lockRun, type LockedRun } from '../store/lock-run.ts'
import { retryDeadlocks } from '../store/retry-deadlocks.ts'
import { findRunHold } from '../store/runs.ts'
import type { Database } from '../store/schema.ts'
import type { EngineContext } from './engine-context.ts'
import { whileHeld } from './while-held.ts'

/** Another worker holds the run, or it is gone: what is in hand is thrown away, and the job must fail, not succeed. */
export class LeaseLostError extends Error {
  constructor(runId: string) {
    super(`The lease of run ${runId} is gone.`)
    this.name = 'LeaseLostError'
  }
}

/** Someone else changed a block that a memory tool was about to write: it has to look again. */
export class BlockChangedError extends Error {
  constructor(runId: string) {
    super(`A block that the run ${runId} was about to write has changed.`)
    this.name = 'BlockChangedError'
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
 * Transient failures of the database are waited out until `release` is aborted.
 */
export async function commit(
  context: EngineContext,
  state: RunState,
  change: (draft: Draft) => void,
  { release }: { readonly release: AbortSignal },
): Promise<Committed> {
  for (;;) {
    const draft = new Draft(state, context)
    // A worker that gets this far was not killed by the run.
    draft.changeRun({ deaths: 0 })
    change(draft)
    const effect = advance(draft)
    const checkpoint = draft.checkpoint()
    if (await storeHeld(context, checkpoint, release)) return { state: draft.state, effect, checkpoint }
    const known = state.run.cancelRequestedAt
    const current = state
    state = await whileHeld(release, () => refreshCancel(context, current))
    const isNew = (known === null) !== (state.run.cancelRequestedAt === null)
    if (!isNew && checkpoint.blocks.length > 0) throw new BlockChangedError(state.run.id)
  }
}

/** A statement whose connection broke may have been committed all the same: then it is not made again. */
function storeHeld(context: EngineContext, checkpoint: Checkpoint, release: AbortSignal): Promise<boolean> {
  let isInDoubt = false
  return whileHeld(release, async () => {
    if (isInDoubt && (await isCheckpointStored(context.db, checkpoint))) {
      context.hub.checkpointStored(checkpoint)
      return true
    }
    isInDoubt = true
    return store(context, checkpoint)
  })
}

/**
 * Gives the run to whoever takes it next: neither a cancel nor a failed attempt, and nothing is waited for. Calls that
 * were about to start have not: they are not lost.
 */
export async function handBack(
  context: EngineContext,
  state: RunState,
  unstarted: readonly ToolCall[] = [],
): Promise<void> {
  for (;;) {
    const draft = new Draft(state, context)
    for (const call of unstarted) draft.changeCall(call.id, { status: 'READY', startedAt: null })
    draft.changeRun({ lease: null, workerId: null })
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
export async function store(context: StoreContext, checkpoint: Checkpoint): Promise<boolean> {
  if (!hasEnded(checkpoint.after.status) && !checkpoint.context) {
    const stored = await writeCheckpoint(context.db, checkpoint)
    if (stored) context.hub.checkpointStored(checkpoint)
    return stored
  }
  if (checkpoint.after.kind !== 'SLEEPTIME' && hasEnded(checkpoint.after.status)) {
    const stored = await writeLoneEnd(context.db, checkpoint)
    if (stored) context.hub.checkpointStored(checkpoint)
    if (stored) return true
  }
  const announce = await retryDeadlocks(() =>
    context.db.transaction().execute(async (trx) => {
      const locked = await lockRun(trx, checkpoint.after.id)
      return locked && storeIn(context, trx, locked, checkpoint)
    }),
  ).catch(unlessRefused)
  announce?.()
  return announce !== undefined
}

type StoreContext = Pick<EngineContext, 'db' | 'hub' | 'ids'>

/** As `store`, in a transaction that holds the run's locks. Throws where it is refused; what it returns tells the others. */
export async function storeIn(
  context: StoreContext,
  trx: Transaction<Database>,
  locked: LockedRun,
  checkpoint: Checkpoint,
): Promise<() => void> {
  if (hasEnded(checkpoint.after.status)) {
    const end = await storeEnd(trx, checkpoint, { ids: context.ids, locked })
    return () => announceEnd(context.hub, end)
  }
  if (!(await writeCheckpoint(trx, checkpoint))) throw new CheckpointRefusedError(checkpoint.after.id)
  return () => context.hub.checkpointStored(checkpoint)
}

export function unlessRefused(error: unknown): undefined {
  if (!(error instanceof CheckpointRefusedError)) throw error
}
