import type { Kysely } from 'kysely'

import type { LoadedRun } from '../store/runs/load-run.ts'
import type { Database } from '../store/database/schema.ts'
import { notifyWorkers } from '../store/workers/workers.ts'

/**
 * Tells workers that a run can be claimed. The signal may be lost: the runs table is the truth, and every worker looks
 * at it twice a second, so a lost or repeated signal does no harm. Call it after the commit.
 */
export interface WorkSignal {
  announce(): void
  /**
   * Stores a new run through `store`, offering it a free place of this process's own worker if there is one. `store`
   * gets the worker's id, so that it can store the run as claimed by that worker; if it returns the claimed run, the
   * run is driven at once. This saves a claim, and the wait for it. `workerId` is null if the run has to wait for a
   * claim.
   */
  offerPlace<Stored extends StoredRun>(
    runId: string,
    store: (workerId: string | null) => Promise<Stored>,
  ): Promise<Stored>
}

/** The result of storing a run that was offered a place. */
export interface StoredRun {
  /** Set if the run was stored with a lease of the worker. */
  readonly claimed?: LoadedRun | undefined
}

/** The worker of this process. */
export interface LocalWorker {
  /** Starts to look for runs, or returns false if it has no free place. */
  look(): boolean
  /** Undefined if it has no free place. */
  offerPlace<Stored extends StoredRun>(
    runId: string,
    store: (workerId: string) => Promise<Stored>,
  ): Promise<Stored> | undefined
}

const batchMs = 3

/**
 * The signal of one process. It asks the process's own worker first. Only if that worker has no free place does it
 * notify the workers of other processes, at most once every few milliseconds.
 */
export class ProcessWorkSignal implements WorkSignal {
  readonly #db: Kysely<Database>
  #worker: LocalWorker | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  connect(worker: LocalWorker): void {
    this.#worker = worker
  }

  offerPlace<Stored extends StoredRun>(
    runId: string,
    store: (workerId: string | null) => Promise<Stored>,
  ): Promise<Stored> {
    return this.#worker?.offerPlace(runId, store) ?? store(null)
  }

  announce(): void {
    if (this.#worker?.look()) return
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      // If this fails, the other workers find the run by themselves soon.
      notifyWorkers(this.#db).catch(() => undefined)
    }, batchMs)
  }

  stop(): void {
    clearTimeout(this.#timer)
  }
}
