import { isTransientFailure } from '../store/database/transient-failure.ts'
import { retryTransient } from '../util/retry-transient.ts'

/**
 * Repeats the database work of a run that this worker drives after every transient failure. A full disk, a timeout or a
 * broken connection then costs time, but not the answer or the tool results in memory. Stops when `letGo` is aborted:
 * from then on the run no longer belongs to this worker.
 */
export function whileDriving<Result>(letGo: AbortSignal, work: () => Promise<Result>): Promise<Result> {
  return retryTransient(work, { isTransient: isTransientFailure, signal: letGo })
}
