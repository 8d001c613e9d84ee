import type { Kysely } from 'kysely'

import { encodeCursor, type RunCursor } from '../domain/cursor.ts'
import type { LiveItem, LiveStep } from '../domain/live-step.ts'
import type { RunEvent } from '../domain/run-event.ts'
import { hasEnded } from '../domain/run.ts'
import { listLogEntries, type StoredEntry } from '../store/run-log.ts'
import { findStreamedItem } from '../store/streamed-items.ts'
import { findRunProgress } from '../store/runs.ts'
import type { Database } from '../store/schema.ts'
import type { Clock } from '../util/clock.ts'
import { deferred, type Deferred } from '../util/deferred.ts'
import type { Hub } from './hub.ts'

export interface FollowContext {
  readonly db: Kysely<Database>
  readonly hub: Hub
  readonly clock: Clock
}

export interface FollowOptions {
  /** From the beginning where there is none. */
  readonly after: RunCursor | undefined
  readonly deltas: boolean
}

/** So many checkpoints are read at a time. */
const batch = 100

/**
 * To stream is to send what lies beyond a cursor: stored entries, then what the live step has beyond it, until the run
 * has ended. The reader holds the cursor and the rows it just read, nothing else, so a slow one costs nothing and
 * finds its deltas merged when it comes back. `return()` answers at once, also while `next()` is parked.
 */
export function followRun(
  context: FollowContext,
  runId: string,
  options: FollowOptions,
): AsyncIterableIterator<RunEvent> {
  return new RunFollower(context, runId, options)
}

class RunFollower implements AsyncIterableIterator<RunEvent> {
  readonly #context: FollowContext
  readonly #runId: string
  readonly #deltas: boolean
  readonly #stopListening: () => void
  #cursor: RunCursor
  #read: RunEvent[] = []
  /** Entries may be there that were not read. */
  #dirty = true
  #finished = false
  #closed = false
  #parked: Deferred<void> | undefined

  constructor(context: FollowContext, runId: string, { after, deltas }: FollowOptions) {
    this.#context = context
    this.#runId = runId
    this.#deltas = deltas
    this.#cursor = after ?? { runId, seq: 0, item: 0, offset: 0 }
    // Before the first read, so that nothing falls between what is stored and what comes.
    this.#stopListening = context.hub.listen(runId, (what) => {
      if (what === 'stored') this.#dirty = true
      this.#parked?.resolve()
    })
  }

  async next(): Promise<IteratorResult<RunEvent, undefined>> {
    try {
      while (!this.#closed) {
        const event = this.#read.shift() ?? this.#nextDelta()
        if (event) return { done: false, value: event }
        if (this.#finished) break
        if (this.#dirty) {
          this.#dirty = false
          await this.#readStored()
        } else {
          this.#parked = deferred()
          await this.#parked.promise
          this.#parked = undefined
        }
      }
    } catch (error) {
      this.#close()
      throw error
    }
    this.#close()
    return { done: true, value: undefined }
  }

  async return(): Promise<IteratorResult<RunEvent, undefined>> {
    this.#close()
    return { done: true, value: undefined }
  }

  async throw(error: unknown): Promise<IteratorResult<RunEvent, undefined>> {
    this.#close()
    throw error
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#stopListening()
    this.#parked?.resolve()
  }

  async #readStored(): Promise<void> {
    const entries = await listLogEntries(this.#context.db, this.#runId, { after: this.#cursor.seq, checkpoints: batch })
    if (entries.length === 0) {
      const progress = await findRunProgress(this.#context.db, this.#runId)
      // Deleted, or ended and all of it delivered. Text beyond the last entry would belong to no step.
      this.#finished = !progress || (hasEnded(progress.status) && this.#cursor.seq >= progress.nextSeq - 1)
      return
    }
    const rest = await this.#restOfItem(entries)
    if (rest) this.#read.push(rest)
    this.#read.push(...entries.map((stored) => this.#entryEvent(stored)))
    const last = entries.at(-1)!
    this.#cursor = { runId: this.#runId, seq: last.seq, item: 0, offset: 0 }
    // A run that was retried has entries after an end: look once more before believing in one.
    const seemsEnded = last.entry.type === 'status' && hasEnded(last.entry.status)
    if (seemsEnded || entries.length >= batch) this.#dirty = true
  }

  #entryEvent({ seq, at, entry }: StoredEntry): RunEvent {
    const cursor = encodeCursor({ runId: this.#runId, seq, item: 0, offset: 0 })
    return { type: 'entry', cursor, runId: this.#runId, at, seq, entry }
  }

  /** Where the reader stopped inside a text that is stored by now, it is sent the rest of it before anything else. */
  async #restOfItem(entries: readonly StoredEntry[]): Promise<RunEvent | undefined> {
    const { item, offset } = this.#cursor
    if (!this.#deltas || (item === 0 && offset === 0)) return undefined
    for (const { entry } of entries) {
      if (entry.type !== 'message') return undefined
      const place = entry.items?.indexOf(item) ?? -1
      if (place < 0) continue
      const streamed = await findStreamedItem(this.#context.db, this.#runId, entry.id, place)
      return streamed && streamed.text.length > offset
        ? this.#delta(streamed, streamed.stepIndex, { item, offset, end: streamed.text.length })
        : undefined
    }
    return undefined
  }

  /** What the live step has beyond the cursor: one item at a time, each after the one before it is complete. */
  #nextDelta(): RunEvent | undefined {
    const step = this.#context.hub.liveStep(this.#runId)
    if (!this.#deltas || this.#dirty || step?.seq !== this.#cursor.seq) return undefined
    let { item, offset } = this.#cursor
    for (;;) {
      const live = step.items[item]
      if (!live) return undefined
      const end = sendableLength(live)
      if (offset < end) {
        const event = this.#delta(live, step.stepIndex, { item, offset, end })
        this.#cursor = { ...this.#cursor, item, offset: end }
        return event
      }
      if (!live.complete) return undefined
      item += 1
      offset = 0
    }
  }

  #delta(
    live: Pick<LiveItem, 'kind' | 'id' | 'text'> & { readonly name?: string },
    stepIndex: LiveStep['stepIndex'],
    { item, offset, end }: { readonly item: number; readonly offset: number; readonly end: number },
  ): RunEvent {
    const text = live.text.slice(offset, end)
    const base = {
      cursor: encodeCursor({ runId: this.#runId, seq: this.#cursor.seq, item, offset: end }),
      runId: this.#runId,
      at: this.#context.clock.now(),
      stepIndex,
      offset,
    }
    return live.kind === 'CALL'
      ? { ...base, type: 'call', toolCallId: live.id, name: live.name ?? '', argumentsText: text }
      : { ...base, type: 'text', kind: live.kind, messageId: live.id, text }
  }
}

/** All but half a surrogate pair, whose other half is still to come. */
function sendableLength({ text, complete }: LiveItem): number {
  const last = text.charCodeAt(text.length - 1)
  return !complete && last >= 0xd800 && last <= 0xdbff ? text.length - 1 : text.length
}
