import { Draft, type Checkpoint } from '../domain/runs/draft.ts'
import { hasEnded } from '../domain/runs/run.ts'
import type { AfterCommit } from '../store/database/transact.ts'
import type { Trx } from '../store/database/schema.ts'
import { writeCheckpoint, type StoredCheckpoint } from '../store/runs/checkpoint.ts'
import { CheckpointRefusedError, storeEnd } from '../store/runs/end-run.ts'
import { loadRun, type LoadedRun } from '../store/runs/load-run.ts'
import { lockRun, type LockedRun } from '../store/runs/lock-run.ts'
import type { Clock } from '../util/clock.ts'
import type { IdSource } from '../util/ids.ts'
import { announceCheckpoint, type AnnounceContext } from './announce.ts'

/** The transaction of a change, from `transact`. */
export interface ChangeTransaction {
  readonly trx: Trx
  readonly afterCommit: AfterCommit
}

/**
 * Changes a run in a transaction: locks it, loads it, lets `change` change a draft of it, stores the draft as a
 * checkpoint, and announces it after the commit. If `change` adds no entry to the run's log, nothing is stored. Returns
 * the result of `change`, or undefined if the run is gone or, with `skipLocked`, if someone else has locked it.
 *
 * This is how everyone changes a run except the worker that drives it: that one needs no locks for most checkpoints,
 * because it has the lease.
 */
export async function changeRun<Result>(
  context: AnnounceContext & { readonly clock: Clock; readonly ids: IdSource },
  { trx, afterCommit }: ChangeTransaction,
  runId: string,
  change: (draft: Draft, loaded: LoadedRun) => Result | Promise<Result>,
  options: { readonly skipLocked?: boolean } = {},
): Promise<Result | undefined> {
  const locked = await lockRun(trx, runId, options)
  const loaded = locked && (await loadRun(trx, runId))
  if (!loaded) return undefined
  const draft = new Draft(loaded.state, context)
  const result = await change(draft, loaded)
  const checkpoint = draft.checkpoint()
  if (checkpoint.entries.length > 0) await storeLocked(context, { trx, afterCommit, locked }, checkpoint)
  return result
}

/** Stores a checkpoint of a run that the transaction has locked. Throws a CheckpointRefusedError if the run changed. */
export async function storeLocked(
  context: AnnounceContext & { readonly ids: IdSource },
  { trx, afterCommit, locked }: ChangeTransaction & { readonly locked: LockedRun },
  checkpoint: Checkpoint,
): Promise<StoredCheckpoint> {
  if (hasEnded(checkpoint.after.status)) {
    const end = await storeEnd(trx, checkpoint, { ids: context.ids, locked })
    const { nextRunId, started } = end
    afterCommit(() => {
      announceCheckpoint(context, end.checkpoint, { mayHaveFreed: nextRunId !== null || started.length > 0 })
      for (const run of started) context.hub.announce({ ...run, status: 'QUEUED', calls: false })
    })
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
