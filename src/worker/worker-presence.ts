import type { Kysely } from 'kysely'

import type { Database } from '../store/schema.ts'
import { readWorkerPresence } from '../store/workers.ts'
import type { Log } from '../util/log.ts'

/** Workers that restart one after the other may all be away for a moment: a server stays ready for so long. */
const graceMs = 60_000

/** Knows for a process that drives no runs whether another one does, and says so in the log if runs wait in vain. */
export class WorkerPresence {
  readonly #db: Kysely<Database>
  readonly #log: Log
  #lastSeen = Number.NEGATIVE_INFINITY
  #warned = false

  constructor(db: Kysely<Database>, log: Log) {
    this.#db = db
    this.#log = log
  }

  /** Whether a worker is there, or was until a moment ago. */
  async isServed(): Promise<boolean> {
    await this.look()
    return performance.now() - this.#lastSeen < graceMs
  }

  async look(): Promise<void> {
    const { hasWorker, runsWait } = await readWorkerPresence(this.#db)
    if (hasWorker) this.#lastSeen = performance.now()
    if (hasWorker && this.#warned) this.#log.info('a worker is running again')
    if (!hasWorker && runsWait && !this.#warned) this.#log.warn(`runs wait, but ${noWorker}`)
    this.#warned = !hasWorker && (runsWait || this.#warned)
  }
}

export const noWorker =
  'no worker is running: start one with the command `worker`, or a server with HOLDPOINT_WORKERS above 0'
