import { listStreamEnds, type StreamEnd } from '../store/conversations/conversation-heads.ts'
import { listRunSeqs } from '../store/runs/runs.ts'
import type { Db } from '../store/database/schema.ts'
import type { Log } from '../util/log.ts'
import type { Hub } from './hub.ts'

const intervalMs = 1_000

/**
 * Once a second, compares the runs and conversations that are followed in this process with the database. A lost
 * wake-up or lost news therefore delays a reader, but never makes it miss anything.
 */
export class RunPoll {
  readonly #db: Db
  readonly #hub: Hub
  readonly #log: Log
  /** What the last round found. */
  #ends = new Map<string, StreamEnd>()
  #timer: NodeJS.Timeout | undefined
  #polling: Promise<void> | undefined

  constructor(db: Db, hub: Hub, log: Log) {
    this.#db = db
    this.#hub = hub
    this.#log = log
  }

  start(): void {
    this.#timer = setInterval(() => {
      // One round at a time, even if a round takes longer than the interval.
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
      this.#log.warn({ err: error }, 'polling the followed runs failed; retrying in the next round')
    }
  }

  async #pollRuns(): Promise<void> {
    const runIds = this.#hub.runsWithReaders()
    if (runIds.length === 0) return
    const seqs = await listRunSeqs(this.#db, runIds)
    for (const runId of runIds) {
      const nextSeq = seqs.get(runId)
      // The readers of a deleted run must look again, so that they end.
      if (nextSeq === undefined) this.#hub.runChanged(runId)
      else this.#hub.pollFound(runId, nextSeq - 1)
    }
  }

  async #pollConversations(): Promise<void> {
    const conversationIds = this.#hub.watchedConversations()
    const ends =
      conversationIds.length > 0 ? await listStreamEnds(this.#db, conversationIds) : new Map<string, StreamEnd>()
    for (const id of conversationIds) {
      const found = ends.get(id)
      // The readers of a deleted conversation must look again, so that they end.
      const isSame = found && found.end === this.#ends.get(id)?.end
      this.#hub.conversationFound(id, isSame ? found : undefined)
    }
    this.#ends = ends
  }
}
