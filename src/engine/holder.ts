/** The worker that drives a run. */
export interface Holder {
  /** Aborted when no further step is to be begun here. */
  readonly draining: AbortSignal
  /** Aborted when what is running is to be let go: the grace of a drain is over, or the worker lost its lock. */
  readonly release: AbortSignal
  /** Called whenever the run has stored something: whatever it did so far has not killed the worker. */
  onProgress?(): void
}
