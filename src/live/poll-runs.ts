import type { Kysely } from 'kysely'

import { listConversationPlaces } from '../store/conversation-heads.ts'
import { listRunSeqs } from '../store/runs.ts'
import type { Database } from '../store/schema.ts'
import type { Log } from '../util/log.ts'
import type { Hub } from './hub.ts'

const intervalMs = 1_000

/**
 * Asks once a second how far the runs and conversations are that someone here follows, and tells of those that moved:
 * whatever the way in which news should have come, a lost one delays and never loses.
 */
export class RunPoll {
  readonly #db: Kysely<Database>
  readonly #hub: Hub
  readonly #log: Log
  /** Where each conversation's stream stood. */
  #places = new Map<string, string>()
  #timer: NodeJS.Timeout | undefined
  #polling: Promise<void> | undefined

  constructor(db: Kysely<Database>, hub: Hub, log: Log) {
    this.#db = db
    this.#hub = hub
    this.#log = log
  }

  start(): void {
    this.#timer = setInterval(() => {
      // A round that takes longer than the interval is not overtaken by the next.
      this.#polling ??= this.#poll().finally(() => (this.#polling = undefined))
    }, intervalMs)
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#polling
  }

  async #poll(): Promise<void> {
    try {
      await this.#pollRuns()
      await this.#pollConversations()
    } catch (error) {
      this.#log.warn({ err: error }, 'could not ask how far runs are; asking again')
    }
  }

  async #pollRuns(): Promise<void> {
    const runIds = this.#hub.listened()
    if (runIds.length === 0) return
    const seqs = await listRunSeqs(this.#db, runIds)
    for (const runId of runIds) {
      const nextSeq = seqs.get(runId)
      // One that is gone has readers who must hear of it.
      if (nextSeq === undefined) this.#hub.poke(runId, 'stored')
      else this.#hub.seen(runId, nextSeq - 1)
    }
  }

  async #pollConversations(): Promise<void> {
    const conversationIds = this.#hub.watchedConversations()
    const places =
      conversationIds.length > 0 ? await listConversationPlaces(this.#db, conversationIds) : new Map<string, string>()
    for (const conversationId of conversationIds) {
      const place = places.get(conversationId)
      // One that is gone has readers who must hear of it.
      if (place === undefined || place !== this.#places.get(conversationId)) this.#hub.conversationMoved(conversationId)
    }
    this.#places = places
  }
}
