import type { Transaction } from 'kysely'

import { advance, type Effect } from '../domain/runs/advance.ts'
import { Draft, type Checkpoint } from '../domain/runs/draft.ts'
import type { RunState } from '../domain/runs/run-state.ts'
import { hasEnded } from '../domain/run.ts'
import type { ToolCall } from '../domain/tools/tool-call.ts'
import { announceCheckpoint, announceEnd } from '../live/announce.ts'
import { isCheckpointStored, writeCheckpoint, writeLoneEnd, type StoredCheckpoint } from '../store/checkpoint.ts'
import { CheckpointRefusedError, storeEnd } from '../store/runs/end-run.ts'
import { insertFiles } from '../store/files/files.ts'
import type { Configuration } from '../store/runs/load-run.ts'
import { lockRun, type LockedRun } from '../store/runs/lock-run.ts'
import { findRunHold } from '../store/runs/runs.ts'
import type { Database } from '../store/database/schema.ts'
import { transact, type AfterCommit } from '../store/transact.ts'
import type { EngineContext } from './engine-context.ts'
import { whileDriving } from './while-driving.ts'

/** Another worker drives the run, or the run was deleted. Whatever this worker has not stored is discarded. */
export class LeaseLostError extends Error {
  constructor(runId: string) {
    super(`This worker no longer holds the lease of run ${runId}.`)
    this.name = 'LeaseLostError'
  }
}

/** Someone else changed a block that a memory tool was about to write, so the tool has to run again. */
export class BlockChangedError extends Error {
  constructor(runId: string) {
    super(`A block changed before run ${runId} could write it.`)
    this.name = 'BlockChangedError'
  }
}

export interface Committed {
  readonly state: RunState
  readonly effect: Effect
  readonly checkpoint: Checkpoint
  /** The agent's settings as of this checkpoint, if the model is asked next and they were read with it. */
  readonly configuration?: Configuration | undefined
}

/**
 * Stores a change to a run that this worker drives, together with everything that follows from it without asking a
 * model or running a tool. If a cancel was stored in the meantime, the fence refuses the checkpoint: the change is then
 * computed again with the cancel in mind. Transient database failures are retried until `letGo` is aborted.
 */
export async function commit(
  context: EngineContext,
  state: RunState,
  change: (draft: Draft) => void,
  { letGo }: { readonly letGo: AbortSignal },
): Promise<Committed> {
  for (;;) {
    const draft = new Draft(state, context)
    // The run has not killed this worker.
    draft.changeRun({ deaths: 0 })
    change(draft)
    const effect = advance(draft)
    const checkpoint = draft.checkpoint()
    // A statement does not see the blocks that it changes.
    const withConfiguration = effect.type === 'call model' && checkpoint.blocks.length === 0
    const stored = await storeWhileDriving(context, checkpoint, { letGo, withConfiguration })
    if (stored) return { state: draft.state, effect, checkpoint, configuration: stored.configuration }
    const known = state.run.cancelRequestedAt
    const current = state
    state = await whileDriving(letGo, () => refreshCancel(context, current))
    const isNew = (known === null) !== (state.run.cancelRequestedAt === null)
    if (!isNew && checkpoint.blocks.length > 0) throw new BlockChangedError(state.run.id)
  }
}

/**
 * Stores a checkpoint, retrying transient failures. A statement whose connection broke may have been committed
 * nevertheless, so the next attempt checks that first.
 */
export function storeWhileDriving(
  context: EngineContext,
  checkpoint: Checkpoint,
  { letGo, withConfiguration = false }: { readonly letGo: AbortSignal; readonly withConfiguration?: boolean },
): Promise<StoredCheckpoint | undefined> {
  let isInDoubt = false
  return whileDriving(letGo, async () => {
    if (isInDoubt && (await isCheckpointStored(context.db, checkpoint))) {
      // If this run ended, the answer that names the next run was lost with the connection.
      announceCheckpoint(context, checkpoint, { mayHaveFreed: true })
      return { nextRunId: null }
    }
    isInDoubt = true
    return store(context, checkpoint, { withConfiguration })
  })
}

/**
 * Gives the run back to the queue, without counting a cancel or a failed attempt and without waiting for anything.
 * Calls in `unstarted` were marked as running but never started, so they become READY again instead of lost.
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

/** Reads the cancel that made the fence refuse. Throws LeaseLostError if it was refused for another reason. */
async function refreshCancel(context: EngineContext, state: RunState): Promise<RunState> {
  const hold = await findRunHold(context.db, state.run.id)
  if (hold?.lease !== state.run.lease || hold.nextSeq !== state.run.nextSeq) throw new LeaseLostError(state.run.id)
  return { ...state, run: { ...state.run, cancelRequestedAt: hold.cancelRequestedAt } }
}

type StoreContext = Pick<EngineContext, 'db' | 'hub' | 'ids' | 'work'>

/** Stores a checkpoint and announces it. Returns undefined if the run has changed since the checkpoint was made. */
async function store(
  context: StoreContext,
  checkpoint: Checkpoint,
  { withConfiguration = false } = {},
): Promise<StoredCheckpoint | undefined> {
  const ends = hasEnded(checkpoint.after.status)
  // These checkpoints also change the conversation or add files to it, so both rows are locked before anything is read.
  const { files } = checkpoint
  if (ends || checkpoint.context || files.length > 0) {
    const isLone = ends && checkpoint.after.kind !== 'SLEEPTIME' && files.length === 0
    const ended = isLone && (await storeLoneEnd(context, checkpoint))
    if (ended) return ended
    return transact(context, async (trx, afterCommit) => {
      const locked = await lockRun(trx, checkpoint.after.id)
      if (!locked) return undefined
      await insertFiles(trx, checkpoint.after, files, { now: checkpoint.at, expiresAt: null })
      return storeIn(context, { trx, afterCommit, locked }, checkpoint)
    }).catch(undefinedIfRefused)
  }
  const stored = await writeCheckpoint(context.db, checkpoint, { withConfiguration })
  if (stored) announceCheckpoint(context, checkpoint)
  return stored
}

async function storeLoneEnd(context: StoreContext, checkpoint: Checkpoint): Promise<StoredCheckpoint | undefined> {
  const stored = await writeLoneEnd(context.db, checkpoint)
  if (stored) announceCheckpoint(context, checkpoint, { mayHaveFreed: stored.nextRunId !== null })
  return stored
}

/** A transaction that holds the locks of a run and its conversation. */
export interface LockingTransaction {
  readonly trx: Transaction<Database>
  readonly afterCommit: AfterCommit
  readonly locked: LockedRun
}

/** Like `store`, inside a transaction that already has the run's locks. Throws if the checkpoint is refused. */
export async function storeIn(
  context: StoreContext,
  { trx, afterCommit, locked }: LockingTransaction,
  checkpoint: Checkpoint,
): Promise<StoredCheckpoint> {
  if (hasEnded(checkpoint.after.status)) {
    const end = await storeEnd(trx, checkpoint, { ids: context.ids, locked })
    afterCommit(() => announceEnd(context, end))
    return end
  }
  const stored = await writeCheckpoint(trx, checkpoint)
  if (!stored) throw new CheckpointRefusedError(checkpoint.after.id)
  afterCommit(() => announceCheckpoint(context, checkpoint))
  return stored
}

export function undefinedIfRefused(error: unknown): undefined {
  if (!(error instanceof CheckpointRefusedError)) throw error
}
