import type { Kysely } from 'kysely'

import type { Database } from '../store/schema.ts'
import { notifyWorkers } from '../store/workers.ts'

/**
 * Tells workers that a run can be claimed. It is only a hint: the runs table is the truth, every worker looks at it
 * twice a second, and a hint that is lost or repeated does no harm. Always called after the commit.
 */
export interface WorkSignal {
  announce(): void
}

const batchMs = 3

/**
 * The signal of one process. Its own worker is asked first; only if that one has no free place are the workers of other
 * processes notified, once for all the runs of a few milliseconds.
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
      // A worker that is not told looks by itself soon.
      notifyWorkers(this.#db).catch(() => undefined)
    }, batchMs)
  }

  stop(): void {
    clearTimeout(this.#timer)
  }
}
