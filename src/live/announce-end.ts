import type { StoredEnd } from '../store/end-run.ts'
import type { Hub } from './hub.ts'

/** Tells readers and watchers of the end of a run, and of the runs that it started. Call it after the commit. */
export function announceEnd(hub: Hub, { checkpoint, started }: StoredEnd): void {
  hub.checkpointStored(checkpoint)
  for (const run of started) hub.announce({ ...run, status: 'QUEUED', calls: false })
}
