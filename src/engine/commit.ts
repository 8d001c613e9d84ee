import type { Transaction } from 'kysely'

import { advance, type Effect } from '../domain/advance.ts'
import { Draft, type Checkpoint } from '../domain/draft.ts'
import type { RunState } from '../domain/run-state.ts'
import { hasEnded } from '../domain/run.ts'
import type { ToolCall } from '../domain/tool-call.ts'
import { announceCheckpoint, announceEnd } from '../live/announce.ts'
import { isCheckpointStored, writeCheckpoint, writeLoneEnd } from '../store/checkpoint.ts'
import { CheckpointRefusedError, storeEnd } from '../store/end-run.ts'
import { lockRun, type LockedRun } from '../store/lock-run.ts'
import { findRunHold } from '../store/runs.ts'
import type { Database } from '../store/schema.ts'
import { transact, type AfterCommit } from '../store/transact.ts'
import type { EngineContext } from './engine-context.ts'
import { whileHeld } from './while-held.ts'

/** Another worker holds the run, or it was deleted: what is in hand is thrown away. */
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
export function storeHeld(context: EngineContext, checkpoint: Checkpoint, release: AbortSignal): Promise<boolean> {
  let isInDoubt = false
  return whileHeld(release, async () => {
    if (isInDoubt && (await isCheckpointStored(context.db, checkpoint))) {
      // Which run got the conversation, if this one ended, was lost with the connection.
      announceCheckpoint(context, checkpoint, { mayHaveFreed: true })
      return true
    }
    isInDoubt = true
    return store(context, checkpoint)
  })
}

/**
 * Gives the run to whoever claims it next: neither a cancel nor a failed attempt, and nothing is waited for. Calls that
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
    if (await store(context, draft.checkpoint())) return
    state = await refreshCancel(context, state)
  }
}

/** The state with the cancel that made the fence refuse; throws where it was not a cancel. */
async function refreshCancel(context: EngineContext, state: RunState): Promise<RunState> {
  const hold = await findRunHold(context.db, state.run.id)
  if (hold?.lease !== state.run.lease || hold.nextSeq !== state.run.nextSeq) throw new LeaseLostError(state.run.id)
  return { ...state, run: { ...state.run, cancelRequestedAt: hold.cancelRequestedAt } }
}

type StoreContext = Pick<EngineContext, 'db' | 'hub' | 'ids' | 'work'>

/** Stores a checkpoint and tells of it. False if the run is no longer as the checkpoint found it. */
async function store(context: StoreContext, checkpoint: Checkpoint): Promise<boolean> {
  const ends = hasEnded(checkpoint.after.status)
  // What changes the conversation too locks both before anything is read: a run that ends lets go of it.
  if (ends || checkpoint.context) {
    if (ends && checkpoint.after.kind !== 'SLEEPTIME' && (await storeLoneEnd(context, checkpoint))) return true
    return transact(context, async (trx, afterCommit) => {
      const locked = await lockRun(trx, checkpoint.after.id)
      if (!locked) return false
      await storeIn(context, { trx, afterCommit, locked }, checkpoint)
      return true
    }).catch(falseIfRefused)
  }
  const stored = await writeCheckpoint(context.db, checkpoint)
  if (stored) announceCheckpoint(context, checkpoint)
  return stored !== undefined
}

async function storeLoneEnd(context: StoreContext, checkpoint: Checkpoint): Promise<boolean> {
  const stored = await writeLoneEnd(context.db, checkpoint)
  if (stored) announceCheckpoint(context, checkpoint, { mayHaveFreed: stored.nextRunId !== null })
  return stored !== undefined
}

/** A transaction that holds the locks of a run and its conversation. */
export interface LockingTransaction {
  readonly trx: Transaction<Database>
  readonly afterCommit: AfterCommit
  readonly locked: LockedRun
}

/** As `store`, in a transaction that holds the run's locks. Throws where it is refused. */
export async function storeIn(
  context: StoreContext,
  { trx, afterCommit, locked }: LockingTransaction,
  checkpoint: Checkpoint,
): Promise<void> {
  if (hasEnded(checkpoint.after.status)) {
    const end = await storeEnd(trx, checkpoint, { ids: context.ids, locked })
    afterCommit(() => announceEnd(context, end))
    return
  }
  if (!(await writeCheckpoint(trx, checkpoint))) throw new CheckpointRefusedError(checkpoint.after.id)
  afterCommit(() => announceCheckpoint(context, checkpoint))
}

export function falseIfRefused(error: unknown): false {
  if (!(error instanceof CheckpointRefusedError)) throw error
  return false
}
