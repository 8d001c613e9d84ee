import type { Kysely } from 'kysely'

import type { Database } from '../store/schema.ts'
import { notifyWorkers } from '../store/workers.ts'

/**
 * Tells workers that a run can be claimed. This is only a hint: the runs table is the truth, and every worker looks at
 * it twice a second, so a lost or repeated hint does no harm. Call it after the commit.
 */
export interface WorkSignal {
  announce(): void
}

const batchMs = 3

/**
 * The signal of one process. It asks the process's own worker first. Only if that worker has no free place does it
 * notify the workers of other processes, at most once every few milliseconds.
 */
export class ProcessWorkSignal implements WorkSignal {
  readonly #db: Kysely<Database>
  #worker: (() => boolean) | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  /** `worker` starts looking for runs, or returns false if it has no free place. */
  connect(worker: () => boolean): void {
    this.#worker = worker
  }

  announce(): void {
    if (this.#worker?.()) return
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
