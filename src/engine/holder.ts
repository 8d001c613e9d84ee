import type { Mutex } from '../util/mutex.ts'

/** Who drives a run. */
export interface Holder {
  readonly workerId: string
  /** What the run is to be held by: of this drive and no other. */
  readonly lease: string
  /** Aborted when no further step is to be begun here. */
  readonly draining: AbortSignal
  /** Aborted when what is running is to be let go: the grace of a drain is over, or the worker lost its lock. */
  readonly release: AbortSignal
  /** Of the runs that are given up if their worker dies once more, this process drives one at a time until it stores something. */
  readonly suspects: Mutex
}
