/** The worker that drives a run. */
export interface DrivingWorker {
  /** Aborted when this worker must not begin another step. */
  readonly draining: AbortSignal
  /**
   * Aborted when this worker must let go of the run: the grace period of a drain is over, or the worker lost its lock.
   */
  readonly letGo: AbortSignal
  /** Called after every stored checkpoint: the run has not killed the worker so far. */
  onProgress?(): void
}
