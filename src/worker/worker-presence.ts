import type { Db } from '../store/database/schema.ts'
import { readWorkerPresence } from '../store/workers/workers.ts'
import type { Log } from '../util/log.ts'

/** How long a server stays ready without any worker. A rolling restart may stop all of them for a moment. */
const graceMs = 60_000

/**
 * For a process that drives no runs: checks whether another process does, and logs a warning if runs wait without one.
 */
export class WorkerPresence {
  readonly #db: Db
  readonly #log: Log
  #lastSeen = Number.NEGATIVE_INFINITY
  #warned = false

  constructor(db: Db, log: Log) {
    this.#db = db
    this.#log = log
  }

  /** Whether a worker is running, or was within the last minute. */
  async isServed(): Promise<boolean> {
    await this.look()
    return performance.now() - this.#lastSeen < graceMs
  }

  async look(): Promise<void> {
    const { hasWorker, runsWait } = await readWorkerPresence(this.#db)
    if (hasWorker) this.#lastSeen = performance.now()
    if (hasWorker && this.#warned) this.#log.info('a worker is running again')
    if (!hasWorker && runsWait && !this.#warned) this.#log.warn(`runs are waiting, but ${noWorker}`)
    this.#warned = !hasWorker && (runsWait || this.#warned)
  }
}

export const noWorker =
  'no worker is running: start one with the command `worker`, or a server with HOLDPOINT_WORKERS above 0'
