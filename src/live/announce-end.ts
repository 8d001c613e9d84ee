import type { StoredEnd } from '../store/end-run.ts'
import type { Hub } from './hub.ts'

/** To be called once the end is committed. */
export function announceEnd(hub: Hub, { checkpoint, started }: StoredEnd): void {
  hub.stored(checkpoint)
  for (const run of started) hub.tell({ ...run, status: 'QUEUED', calls: false })
}
