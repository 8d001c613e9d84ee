import type { Checkpoint } from '../domain/runs/draft.ts'
import type { StoredEnd } from '../store/runs/end-run.ts'
import type { Hub } from './hub.ts'
import type { WorkSignal } from './work-signal.ts'

interface AnnounceContext {
  readonly hub: Hub
  readonly work: WorkSignal
}

/**
 * Tells readers and workers about a committed checkpoint. Set `mayHaveFreed` if it gave the conversation to a waiting
 * run.
 */
export function announceCheckpoint(
  { hub, work }: AnnounceContext,
  checkpoint: Checkpoint,
  { mayHaveFreed = false }: { readonly mayHaveFreed?: boolean } = {},
): void {
  hub.checkpointStored(checkpoint)
  const { status, lease } = checkpoint.after
  if (mayHaveFreed || (lease === null && (status === 'QUEUED' || status === 'RUNNING'))) work.announce()
}

/** Tells readers and workers about a committed end of a run, and about the background runs that it started. */
export function announceEnd(context: AnnounceContext, { checkpoint, nextRunId, started }: StoredEnd): void {
  announceCheckpoint(context, checkpoint, { mayHaveFreed: nextRunId !== null || started.length > 0 })
  for (const run of started) context.hub.announce({ ...run, status: 'QUEUED', calls: false })
}
