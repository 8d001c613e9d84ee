import { encodeCursor, type RunCursor } from '../domain/cursor.ts'
import { eventsDeleted } from '../domain/errors.ts'
import { pieceBeyond, sliceText, type LivePiece } from '../domain/runs/live-step.ts'
import {
  eventTypeOf,
  messageTypesOfDelta,
  toEntryEvents,
  wantsDeltas,
  wantsProgress,
  type EventFilter,
  type RunEvent,
} from '../domain/runs/run-event.ts'
import { hasEnded } from '../domain/runs/run.ts'
import type { ToolCallProgress } from '../domain/tools/tool-call.ts'
import { findMessageTypes } from '../store/conversations/messages.ts'
import { listLogEntries } from '../store/runs/run-log.ts'
import { findStreamedItem } from '../store/runs/streamed-items.ts'
import { findRunProgress } from '../store/runs/runs.ts'
import type { Db } from '../store/database/schema.ts'
import type { Clock } from '../util/clock.ts'
import { PulledIterator } from './pulled-iterator.ts'
import type { Hub } from './hub.ts'
import { endsIn, type EntryEvent, type RunTail, type TailRead } from './run-tail.ts'

export interface FollowContext {
  readonly db: Db
  readonly hub: Hub
  readonly clock: Clock
}

export interface FollowOptions extends EventFilter {
  /** Send what follows this cursor. Undefined to send everything. */
  readonly after: RunCursor | undefined
  /** Deliver what is left of a log that retention has deleted in part. Otherwise a reader that misses entries fails. */
  readonly showsGaps?: boolean
  /** Called instead of the follower's own `wake`, if another iterator takes its events. */
  readonly onWake?: () => void
}

export interface FollowedRun {
  readonly id: string
  readonly conversationId: string
}

/** How many checkpoints to read at a time. */
const batch = 100

/**
 * Follows a run until it has ended: sends the stored entries after the cursor, then the live step's text beyond the
 * cursor. The follower holds only its cursor and the entries that it has just read, so a slow reader costs nothing and
 * gets its deltas merged. `return()` resolves immediately, even while `next()` is waiting.
 */
export function followRun(context: FollowContext, run: FollowedRun, options: FollowOptions): RunFollower {
  return new RunFollower(context, run, options)
}

/**
 * Each time it is asked for an event, a follower does the first of these that is possible:
 *
 * 1. Deliver the next entry that it has read, and move the cursor to it.
 * 2. Deliver text, if the cursor is in the live step and the step has more. At most once per tick of the event loop.
 * 3. End, if what it has read was the last of a run that has ended.
 * 4. Take the entries after the cursor from the tail, if the tail has them.
 * 5. Read the database, if entries are known to follow that the tail no longer has, or if they may follow: something
 *    was announced since this follower last read, and nobody has found since then that nothing follows.
 * 6. Wait for a wake-up, and start again from 1.
 *
 * Between 4 or 5 and 1, a follower whose cursor is inside a text that is stored by now reads that text, and delivers
 * the rest of it first.
 *
 * Nothing is missed, because a follower listens before it first reads, and remembers before each read how many
 * announcements there had been: one that comes during the read makes it read again.
 */
export class RunFollower extends PulledIterator<RunEvent> {
  readonly #context: FollowContext
  readonly #runId: string
  readonly #conversationId: string
  readonly #deltas: boolean
  readonly #showsProgress: boolean
  /** What the reader knows of the progress of running calls. */
  readonly #shownProgress = new Map<string, ToolCallProgress>()
  readonly #types: FollowOptions['types']
  readonly #messageTypes: FollowOptions['messageTypes']
  readonly #showsGaps: boolean
  readonly #tail: RunTail
  readonly #stopListening: () => void
  #cursor: RunCursor
  #read: readonly RunEvent[] = []
  /** Messages in `#read` whose type the reader did not ask for. */
  #unwanted: ReadonlySet<string> = new Set()
  /** How many of `#read` were delivered. */
  #delivered = 0
  /** The number of announcements when this follower last read, or found that it need not read. */
  #checked = -1
  #finished = false
  #passedGap = false
  /** The tick of the event loop in which text was last delivered. */
  #textTick = -1

  constructor(context: FollowContext, { id: runId, conversationId }: FollowedRun, options: FollowOptions) {
    super()
    this.#context = context
    this.#runId = runId
    this.#conversationId = conversationId
    this.#deltas = wantsDeltas(options)
    this.#showsProgress = wantsProgress(options)
    this.#types = options.types
    this.#messageTypes = options.messageTypes
    this.#showsGaps = options.showsGaps ?? false
    this.#cursor = options.after ?? { runId, seq: 0, item: 0, offset: 0 }
    // Listens before the first read, so that no entry can be stored unnoticed between the two.
    this.#stopListening = context.hub.listen(runId, options.onWake ?? (() => this.wake()))
    this.#tail = context.hub.tail(runId)!
    this.#tail.readers += 1
  }

  /** The cursor of the last event that was delivered. */
  get cursor(): RunCursor {
    return this.#cursor
  }

  /** Whether entries before the last event were deleted. Answers true once for each gap. */
  takeGap(): boolean {
    const passed = this.#passedGap
    this.#passedGap = false
    return passed
  }

  protected override release(): void {
    this.#tail.readers -= 1
    this.#stopListening()
    this.#read = []
  }

  override take(): RunEvent | 'wait' | 'end' | Promise<void> {
    for (;;) {
      const event = this.#nextRead() ?? this.#nextDelta()
      if (!event) break
      if (event instanceof Promise || this.#wants(event)) return event
    }
    if (this.#finished) return 'end'
    const { lastSeq, announcements } = this.#tail
    if (lastSeq > this.#cursor.seq) {
      const events = this.#tail.after(this.#cursor.seq)
      return events ? this.#accept({ events, finished: endsIn(events) }) : this.#readStored()
    }
    if (announcements === this.#checked) return this.#nextProgress() ?? 'wait'
    if (!this.#tail.covers(this.#cursor.seq)) return this.#readStored()
    this.#checked = announcements
    return this.#nextProgress() ?? 'wait'
  }

  /** An event that is left out moves the cursor like any other. */
  #wants(event: RunEvent): boolean {
    if (this.#types && !this.#types.has(eventTypeOf(event))) return false
    if (!this.#messageTypes) return true
    if (event.type === 'progress') return true
    if (event.type === 'entry') return event.entry.type !== 'message' || !this.#unwanted.has(event.entry.id)
    return messageTypesOfDelta(event).some((type) => this.#messageTypes!.has(type))
  }

  #nextRead(): RunEvent | undefined {
    const event = this.#read[this.#delivered]
    if (!event) return undefined
    this.#delivered += 1
    if (event.type === 'entry') {
      this.#passedGap ||= event.seq > this.#cursor.seq + 1
      this.#cursor = { runId: this.#runId, seq: event.seq, item: 0, offset: 0 }
    }
    return event
  }

  async #readStored(): Promise<void> {
    this.#checked = this.#tail.announcements
    const after = this.#cursor.seq
    const read = await this.read(() => this.#tail.read(after, () => this.#load(after)))
    if (!this.#showsGaps && after > 0 && (read.events[0]?.seq ?? 0) > after + 1) throw eventsDeleted()
    // No announcement will come for the entries that this read left out.
    if (read.cut) this.#checked = -1
    await this.#accept(read)
  }

  async #load(after: number): Promise<TailRead> {
    const { db } = this.#context
    const run = { id: this.#runId, conversationId: this.#conversationId }
    const entries = await listLogEntries(db, this.#runId, { after, checkpoints: batch })
    const events = entries.flatMap(({ seq, at, entry }) => toEntryEvents(run, { firstSeq: seq, at, entries: [entry] }))
    // Each checkpoint has at least one entry, so fewer events than this come from fewer checkpoints than the limit.
    const cut = events.length >= batch
    if (events.length > 0) return { events, cut, finished: !cut && endsIn(events) }
    const progress = await findRunProgress(db, this.#runId)
    return { events, cut, finished: !progress || (hasEnded(progress.status) && after >= progress.nextSeq - 1) }
  }

  async #accept({ events, finished }: Pick<TailRead, 'events' | 'finished'>): Promise<void> {
    const rest = await this.#restOfItem(events)
    if (this.#messageTypes) this.#unwanted = await this.#findUnwanted(events, this.#messageTypes)
    this.#read = rest ? [rest, ...events] : events
    this.#delivered = 0
    this.#finished = finished
  }

  /** The log names messages by id, so their types are looked up. */
  async #findUnwanted(
    events: readonly EntryEvent[],
    wanted: NonNullable<FollowOptions['messageTypes']>,
  ): Promise<ReadonlySet<string>> {
    const ids = events.flatMap(({ entry }) => (entry.type === 'message' ? [entry.id] : []))
    if (ids.length === 0) return new Set()
    const types = await this.read(() => findMessageTypes(this.#context.db, ids))
    return new Set(ids.filter((id) => !wanted.has(types.get(id)!)))
  }

  /** The rest of the text that the cursor points into, if that text has been stored. */
  async #restOfItem(events: readonly EntryEvent[]): Promise<RunEvent | undefined> {
    const { item, offset } = this.#cursor
    const isNext = events[0]?.seq === this.#cursor.seq + 1
    if (!this.#deltas || !isNext || (item === 0 && offset === 0)) return undefined
    for (const { entry } of events) {
      if (entry.type !== 'message') return undefined
      const place = entry.items?.indexOf(item) ?? -1
      if (place < 0) continue
      const { db, hub } = this.#context
      const streamed = await this.read(() =>
        hub.reads.read(`item ${entry.id} ${place}`, () => findStreamedItem(db, this.#runId, entry.id, place)),
      )
      const piece = streamed && pieceBeyond([streamed], { item: 0, offset })
      return piece && this.#delta({ ...piece, item }, streamed.stepIndex)
    }
    return undefined
  }

  /** The live step's text beyond the cursor. Delivers one item at a time, each after the previous one is complete. */
  #nextDelta(): RunEvent | Promise<void> | undefined {
    const step = this.#context.hub.liveStep(this.#runId)
    if (!this.#deltas || step?.seq !== this.#cursor.seq) return undefined
    const piece = pieceBeyond(step.items, this.#cursor)
    if (!piece) return undefined
    const { ticks } = this.#context.hub
    if (this.#textTick === ticks.current) return ticks.passed()
    this.#textTick = ticks.current
    void ticks.passed()
    const { item, offset } = piece
    const event = this.#tail.delta(step.seq, item, offset, () => this.#delta(piece, step.stepIndex))
    this.#cursor = { runId: this.#runId, seq: step.seq, item: piece.item, offset: endOf(event) }
    return event
  }

  /** Progress that the reader does not know. It moves no cursor: whoever returns gets what is reported next. */
  #nextProgress(): RunEvent | undefined {
    const calls = this.#showsProgress && this.#context.hub.progressOf(this.#runId)
    if (!calls) return undefined
    for (const [toolCallId, progress] of calls) {
      if (this.#shownProgress.get(toolCallId) === progress) continue
      this.#shownProgress.set(toolCallId, progress)
      const cursor = encodeCursor(this.#conversationId, this.#cursor)
      return { type: 'progress', cursor, runId: this.#runId, at: this.#context.clock.now(), toolCallId, progress }
    }
    return undefined
  }

  #delta({ live, item, offset, end }: LivePiece, stepIndex: number): RunEvent {
    // A lone surrogate is stored as U+FFFD, so readers get the same.
    const text = sliceText(live, offset, end).toWellFormed()
    const { clock } = this.#context
    const runId = this.#runId
    const cursor = encodeCursor(this.#conversationId, { runId, seq: this.#cursor.seq, item, offset: end })
    const { id } = live
    return live.kind === 'CALL'
      ? {
          type: 'call',
          cursor,
          runId,
          at: clock.now(),
          stepIndex,
          offset,
          toolCallId: id,
          name: live.name,
          needs: live.needs,
          argumentsText: text,
        }
      : { type: 'text', cursor, runId, at: clock.now(), stepIndex, offset, kind: live.kind, messageId: id, text }
  }
}

function endOf(event: RunEvent): number {
  switch (event.type) {
    case 'text':
      return event.offset + event.text.length
    case 'call':
      return event.offset + event.argumentsText.length
    case 'entry':
    case 'progress':
      return 0
    default:
      return event satisfies never
  }
}
