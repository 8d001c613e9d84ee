import type { Kysely } from 'kysely'

import { listRunSeqs } from '../store/runs.ts'
import type { Database } from '../store/schema.ts'
import type { Log } from '../util/log.ts'
import type { Hub } from './hub.ts'

const intervalMs = 1_000

/**
 * Asks once a second how far the runs are that someone here listens to, and pokes for those that moved: whatever the
 * way in which news should have come, a lost one delays and never loses.
 */
export class RunPoll {
  readonly #db: Kysely<Database>
  readonly #hub: Hub
  readonly #log: Log
  #seen = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined
  #polling: Promise<void> = Promise.resolve()

  constructor(db: Kysely<Database>, hub: Hub, log: Log) {
    this.#db = db
    this.#hub = hub
    this.#log = log
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#polling = this.#polling.then(() => this.#poll())
    }, intervalMs)
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#polling
  }

  async #poll(): Promise<void> {
    const runIds = this.#hub.listened()
    if (runIds.length === 0) return this.#seen.clear()
    try {
      const seqs = await listRunSeqs(this.#db, runIds)
      for (const [runId, nextSeq] of seqs) {
        if (this.#seen.get(runId) !== nextSeq) this.#hub.poke(runId, 'stored')
      }
      this.#seen = seqs
    } catch (error) {
      this.#log.warn({ err: error }, 'could not ask how far runs are; asking again')
    }
  }
}
