import type { Checkpoint } from '../domain/runs/draft.ts'
import type { Hub } from './hub.ts'
import type { WorkSignal } from './work-signal.ts'

export interface AnnounceContext {
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
