import type { LoadedRun } from '../store/runs/load-run.ts'

/** A place of this process's own worker, kept for a run that is about to be stored. */
export interface ReservedPlace {
  readonly workerId: string
  /** Agents whose runs this worker leaves to others. */
  readonly leftAgentIds: readonly string[]
  /** Drives the run, which was stored with a lease of the worker. */
  drive(run: AdmittedRun): void
  /** Frees the place. `inDoubt`: the run may have been stored with a lease nevertheless. */
  release(options?: { readonly inDoubt: boolean }): void
}

/** A run that was stored with a lease. */
export interface AdmittedRun {
  readonly loaded: LoadedRun
  /** The ids of its messages, if it began in the same statement. */
  readonly begunWith: readonly string[] | undefined
}

/** The worker of this process. */
export interface LocalWorker {
  /** Starts to look for runs, or returns false if it has no free place. */
  look(): boolean
  /** Undefined if it has no free place. */
  reservePlace(runId: string): ReservedPlace | undefined
}

const batchMs = 3

/**
 * Tells workers that a run can be claimed. The signal may be lost: the runs table is the truth, and every worker looks
 * at it twice a second, so a lost or repeated signal does no harm. It asks the process's own worker first. Only if that
 * worker has no free place does it notify the workers of other processes, at most once every few milliseconds.
 */
export class WorkSignal {
  readonly #notify: () => Promise<void>
  #worker: LocalWorker | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(notify: () => Promise<void>) {
    this.#notify = notify
  }

  connect(worker: LocalWorker): void {
    this.#worker = worker
  }

  /**
   * A free place for a run that is about to be stored, if this process has one: the run can then be stored with a
   * lease, which saves a claim and the wait for it. Undefined if the run has to wait for a claim. The caller must call
   * `drive` or `release`.
   */
  reservePlace(runId: string): ReservedPlace | undefined {
    return this.#worker?.reservePlace(runId)
  }

  /** Call it after the commit that made a run claimable. */
  announce(): void {
    if (this.#worker?.look()) return
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      // If this fails, the other workers find the run by themselves soon.
      this.#notify().catch(() => undefined)
    }, batchMs)
  }

  stop(): void {
    clearTimeout(this.#timer)
  }
}
