import { advance, type Effect } from '../domain/runs/advance.ts'
import { Draft, type Checkpoint } from '../domain/runs/draft.ts'
import type { RunState } from '../domain/runs/run-state.ts'
import { hasEnded } from '../domain/runs/run.ts'
import type { ToolCall } from '../domain/tools/tool-call.ts'
import { announceCheckpoint } from '../live/announce.ts'
import { storeLocked, undefinedIfRefused } from '../live/change-run.ts'
import { isCheckpointStored, type StoredCheckpoint } from '../store/runs/checkpoint.ts'
import type { CheckpointWrite } from '../store/runs/checkpoint-rows.ts'
import { insertPassages } from '../store/memory/passages.ts'
import { insertFiles } from '../store/files/files.ts'
import type { Configuration } from '../store/runs/load-run.ts'
import { lockRun } from '../store/runs/lock-run.ts'
import { findFence } from '../store/runs/runs.ts'
import { transact } from '../store/database/transact.ts'
import { isTransientFailure } from '../store/database/transient-failure.ts'
import { judged } from '../util/json-schema.ts'
import type { EngineContext } from './engine-context.ts'
import { whileDriving } from './while-driving.ts'

/** Another worker drives the run, or the run was deleted. Whatever this worker has not stored is discarded. */
export class LeaseLostError extends Error {
  constructor(runId: string) {
    super(`This worker no longer holds the lease of run ${runId}.`)
    this.name = 'LeaseLostError'
  }
}

/** The database refuses a checkpoint for a reason that does not pass. Nothing of the checkpoint is stored. */
export class UnstorableError extends Error {
  constructor(cause: unknown) {
    super('The database refuses a checkpoint.', { cause })
    this.name = 'UnstorableError'
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

export interface CommitOptions {
  readonly letGo: AbortSignal
  /** The settings that the run's last step used. */
  readonly known?: Configuration | undefined
  /** Called with what is about to be stored. If it is refused, called again with what is stored instead. */
  readonly onDraft?: (next: Committed) => void
}

/**
 * Stores a change to a run that this worker drives, together with everything that follows from it without asking a
 * model or running a tool. If a cancel was stored in the meantime, the fence refuses the checkpoint: the change is then
 * computed again with the cancel in mind. Transient database failures are retried until `letGo` is aborted. Any other
 * failure to store it is an UnstorableError.
 */
export async function commit(
  context: EngineContext,
  state: RunState,
  change: (draft: Draft) => void,
  { letGo, known, onDraft }: CommitOptions,
): Promise<Committed> {
  for (;;) {
    const current = state
    const { draft, effect } = await judged(current.run.tenantId, () => {
      const draft = new Draft(current, context)
      // The run has not killed this worker.
      draft.changeRun({ deaths: 0 })
      change(draft)
      return { draft, effect: advance(draft) }
    })
    const checkpoint = draft.checkpoint()
    // A statement does not see the blocks that it changes.
    const withConfiguration = effect.type === 'call model' && checkpoint.blocks.length === 0
    const next = { state: draft.state, effect, checkpoint }
    onDraft?.(next)
    const write = { checkpoint, withConfiguration, knownSignature: known?.signature }
    const stored = await storeWhileDriving(context, write, letGo)
    if (stored) return { ...next, configuration: stored.configuration === 'known' ? known : stored.configuration }
    const wasCancelled = state.run.cancelRequestedAt
    state = await whileDriving(letGo, () => refreshCancel(context, current))
    const isNew = (wasCancelled === null) !== (state.run.cancelRequestedAt === null)
    if (!isNew && checkpoint.blocks.length > 0) throw new BlockChangedError(state.run.id)
  }
}

/** Repeats work that stores a checkpoint after every transient failure. Any other failure is an UnstorableError. */
export async function storing<Result>(
  { log }: Pick<EngineContext, 'log'>,
  letGo: AbortSignal,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await whileDriving(letGo, work)
  } catch (error) {
    if (isTransientFailure(error)) throw error
    log.error({ err: error }, 'the database refuses a checkpoint')
    throw new UnstorableError(error)
  }
}

/**
 * Stores a checkpoint, retrying transient failures. A statement whose connection broke may have been committed
 * nevertheless, so the next attempt checks that first.
 */
export function storeWhileDriving(
  context: EngineContext,
  write: CheckpointWrite,
  letGo: AbortSignal,
): Promise<StoredCheckpoint | undefined> {
  const { checkpoint } = write
  let isInDoubt = false
  return storing(context, letGo, async () => {
    if (isInDoubt && (await isCheckpointStored(context.db, checkpoint))) {
      // If this run ended, the answer that names the next run was lost with the connection.
      announceCheckpoint(context, checkpoint, { mayHaveFreed: true })
      return { nextRunId: null }
    }
    // Together with others, it could be the reason why the statement fails for all of them again and again.
    const alone = isInDoubt
    isInDoubt = true
    return store(context, write, { alone })
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
    if (await store(context, { checkpoint: draft.checkpoint(), withConfiguration: false })) return
    state = await refreshCancel(context, state)
  }
}

/** Reads the cancel that made the fence refuse. Throws LeaseLostError if it was refused for another reason. */
async function refreshCancel(context: EngineContext, state: RunState): Promise<RunState> {
  const hold = await findFence(context.db, state.run.id)
  if (hold?.lease !== state.run.lease || hold.nextSeq !== state.run.nextSeq) throw new LeaseLostError(state.run.id)
  return { ...state, run: { ...state.run, cancelRequestedAt: hold.cancelRequestedAt } }
}

type StoreContext = Pick<EngineContext, 'db' | 'checkpoints' | 'hub' | 'ids' | 'work'>

/** Stores a checkpoint and announces it. Returns undefined if the run has changed since the checkpoint was made. */
async function store(
  context: StoreContext,
  write: CheckpointWrite,
  { alone = false } = {},
): Promise<StoredCheckpoint | undefined> {
  const { checkpoint } = write
  const ends = hasEnded(checkpoint.after.status)
  // These checkpoints also change the conversation, or add files to it or passages to an archive, so both rows are locked
  // before anything is read.
  const { files, passages } = checkpoint
  const adds = files.length > 0 || passages.length > 0
  if (ends || checkpoint.context || adds) {
    const isLone = ends && checkpoint.after.kind !== 'SLEEPTIME' && !adds
    const ended = isLone && (await storeOne(context, write, alone))
    if (ended) return ended
    return transact(context, async (trx, afterCommit) => {
      const locked = await lockRun(trx, checkpoint.after.id)
      if (!locked) return undefined
      await insertFiles(trx, checkpoint.after, files, { now: checkpoint.at, expiresAt: null })
      await insertPassages(trx, passages)
      return storeLocked(context, { trx, afterCommit, locked }, checkpoint)
    }).catch(undefinedIfRefused)
  }
  return storeOne(context, write, alone)
}

async function storeOne(
  context: StoreContext,
  write: CheckpointWrite,
  alone: boolean,
): Promise<StoredCheckpoint | undefined> {
  const stored = await context.checkpoints.write(write, { alone })
  if (stored) announceCheckpoint(context, write.checkpoint, { mayHaveFreed: stored.nextRunId !== null })
  return stored
}
