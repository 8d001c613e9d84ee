import { encodeCursor, encodeKnown, type RunCursor } from '../domain/cursor.ts'
import {
  eventTypeOf,
  wantsDeltas,
  type ConversationEvent,
  type EventFilter,
  type EventType,
  type RunEvent,
} from '../domain/runs/run-event.ts'
import type { RunNews } from '../domain/runs/run-news.ts'
import { hasEnded } from '../domain/runs/run.ts'
import { findLastMessageBefore, findLastSharedMessage } from '../store/conversations/branches.ts'
import {
  findConversationPlace,
  type ConversationPlace,
  type ConversationState,
} from '../store/conversations/conversation-heads.ts'
import { followRun, type FollowContext, type RunFollower } from './follow-run.ts'
import { PulledIterator } from './pulled-iterator.ts'

/** Where a reader is in the stream of a conversation, and what it knows. */
export interface ConversationStart {
  /** The run that was read last, by its place among the runs that held the conversation. 0 before the first. */
  readonly hold: number
  /** The last event that was read of that run. Undefined if the run does not exist, or no longer exists. */
  readonly cursor: RunCursor | undefined
  /** Whether the run may be under way at this place. */
  readonly follow: boolean
  /** The last run of the branch that the reader knows as current. */
  readonly tip: number
  /** The queue that the reader knows. */
  readonly queue: string
}

export interface FollowConversationOptions extends EventFilter {
  readonly after: ConversationStart
}

/**
 * Follows the runs of a conversation one after another, in the order in which they hold it, and reports changes of its
 * queue and its current branch. It ends only when the conversation is deleted: between two runs it waits for the next
 * run, or for the last one to be retried.
 */
export function followConversation(
  context: FollowContext,
  conversationId: string,
  options: FollowConversationOptions,
): AsyncIterableIterator<ConversationEvent> {
  return new ConversationFollower(context, conversationId, options)
}

/**
 * The events of runs are a log. The queue and the current branch are states: the follower remembers which ones its
 * reader knows, and sends an event when they differ. Both are part of its cursors, so a reader that was away while they
 * changed twice gets one event.
 *
 * The follower looks at the conversation when a run is over, and on news of any other run. It sends a new queue at
 * once. When it follows no run, it continues, in this order, with new entries of the run that it followed last (that
 * run was retried), with the next run that held the conversation, and with another branch that was selected since. A
 * run that does not continue the known branch is preceded by the change of branch, so while the follower follows a run,
 * that run is the last one of the branch that its reader knows.
 *
 * Retention deletes the logs of old runs but not their messages. A reader that was away for so long that it missed
 * entries gets a change of branch too: it drops the messages of the run and loads what is stored.
 */
class ConversationFollower extends PulledIterator<ConversationEvent> {
  readonly #context: FollowContext
  readonly #conversationId: string
  readonly #deltas: boolean
  readonly #types: ReadonlySet<EventType> | undefined
  readonly #messageTypes: EventFilter['messageTypes']
  readonly #stopWatching: () => void
  #hold: number
  /** The last event of the run that was followed last. */
  #cursor: RunCursor
  #tip: number
  #queue: string
  #run: { readonly id: string; readonly follower: RunFollower } | undefined
  /** Events of the conversation itself, to be sent before anything else. */
  #ready: ConversationEvent[] = []
  /** Whether the conversation may have changed since it was last looked at. */
  #mayHaveChanged = true
  #isDeleted = false
  /** Before the reader was last told to load messages: they include what was stored until then. */
  #reloadedAt: Date | undefined

  constructor(context: FollowContext, conversationId: string, options: FollowConversationOptions) {
    super()
    const { after, types, messageTypes } = options
    this.#context = context
    this.#conversationId = conversationId
    this.#deltas = wantsDeltas(options)
    this.#types = types
    this.#messageTypes = messageTypes
    this.#hold = after.hold
    this.#cursor = after.cursor ?? { runId: conversationId, seq: 0, item: 0, offset: 0 }
    this.#tip = after.tip
    this.#queue = after.queue
    const look = (news: RunNews | undefined) => {
      // The follower of a run sees by itself what happens to the run.
      if (news && news.runId === this.#run?.id) return
      this.#mayHaveChanged = true
      this.wake()
    }
    this.#stopWatching = context.hub.watchConversation(conversationId, look, (state) => this.#knows(state))
    if (after.cursor && after.follow) this.#follow(after.cursor.runId, after.cursor)
  }

  protected override release(): void {
    this.#stopWatching()
    void this.#run?.follower.return()
    this.#run = undefined
    this.#ready = []
  }

  protected override take(): ConversationEvent | 'wait' | 'end' | Promise<void> {
    for (;;) {
      const taken = this.#takeAny()
      if (taken === 'wait' || taken === 'end' || taken instanceof Promise) return taken
      if (!this.#types || this.#types.has(eventTypeOf(taken))) return taken
    }
  }

  #takeAny(): ConversationEvent | 'wait' | 'end' | Promise<void> {
    const ready = this.#ready.shift()
    if (ready) return ready
    if (this.#isDeleted) return 'end'
    if (this.#mayHaveChanged) {
      this.#mayHaveChanged = false
      return this.#look()
    }
    if (!this.#run) return 'wait'
    const { follower } = this.#run
    const taken = follower.take()
    if (taken === 'wait' || taken instanceof Promise) return taken
    if (taken !== 'end')
      return this.#missesEntries(taken, follower) ? this.#reload(taken, follower) : this.#pass(taken, follower)
    this.#cursor = follower.cursor
    this.#leaveRun()
    return this.#takeAny()
  }

  /** The branch may be another one as long as the follower follows a run: it looks when that run is over. */
  #knows({ tip, queue }: ConversationState): boolean {
    return queue === this.#queue && (this.#run !== undefined || tip === this.#tip)
  }

  #pass(taken: RunEvent, follower: RunFollower): RunEvent {
    this.#cursor = follower.cursor
    // A retry may add entries later in the stream, so the follower leaves a run whenever it ends.
    if (endsRun(taken)) this.#leaveRun()
    return withQueue(taken, this.#queue)
  }

  /** Whether entries before this event were deleted that the reader has not loaded since they were stored. */
  #missesEntries(taken: RunEvent, follower: RunFollower): boolean {
    return follower.takeGap() && !(this.#reloadedAt && taken.at < this.#reloadedAt)
  }

  async #reload(taken: RunEvent, follower: RunFollower): Promise<void> {
    const at = (this.#reloadedAt = this.#context.clock.now())
    const lastSharedMessageId = await this.read(() => findLastMessageBefore(this.#context.db, taken.runId))
    if (this.closed) return
    this.#ready.push({ type: 'branch', cursor: this.#encode(), at, lastSharedMessageId }, this.#pass(taken, follower))
  }

  async #look(): Promise<void> {
    const { db, hub } = this.#context
    const [id, hold, { runId }] = [this.#conversationId, this.#hold, this.#cursor]
    const place = await this.read(() =>
      hub.reads.read(`place ${id} ${hold} ${runId}`, () => findConversationPlace(db, id, { hold, runId })),
    )
    if (this.closed) return
    if (!place) {
      this.#isDeleted = true
      return
    }
    if (place.queue.tag !== this.#queue) {
      this.#queue = place.queue.tag
      this.#ready.push({
        type: 'queue',
        cursor: this.#encode(),
        at: this.#context.clock.now(),
        runIds: place.queue.runIds,
      })
    }
    if (!this.#run) await this.#goOn(place)
  }

  async #goOn({ nextSeq, next, tip, changedAt }: ConversationPlace): Promise<void> {
    if (nextSeq !== null && nextSeq - 1 > this.#cursor.seq) {
      if (this.#tip !== this.#hold) await this.#changeBranch(this.#hold, changedAt)
      this.#follow(this.#cursor.runId, this.#cursor)
    } else if (next) {
      const { runId, hold, previousHold, resumed } = next
      if (previousHold !== this.#tip && !resumed?.holds.includes(this.#tip)) {
        await this.#changeBranch(previousHold, next.createdAt)
      }
      this.#hold = hold
      this.#tip = hold
      this.#follow(runId, resumed ? { runId, seq: resumed.seq - 1, item: 0, offset: 0 } : undefined)
    } else if (tip !== this.#tip) await this.#changeBranch(tip, changedAt)
  }

  async #changeBranch(tip: number, at: Date): Promise<void> {
    const { db, hub, clock } = this.#context
    const [id, known] = [this.#conversationId, this.#tip]
    this.#reloadedAt = clock.now()
    const lastSharedMessageId = await this.read(() =>
      hub.reads.read(`branch ${id} ${known} ${tip}`, () => findLastSharedMessage(db, id, [known, tip])),
    )
    this.#tip = tip
    this.#ready.push({ type: 'branch', cursor: this.#encode(), at, lastSharedMessageId })
  }

  #follow(id: string, after: RunCursor | undefined): void {
    if (this.closed) return
    const follower = followRun(
      this.#context,
      { id, conversationId: this.#conversationId },
      { after, deltas: this.#deltas, messageTypes: this.#messageTypes, showsGaps: true, onWake: () => this.wake() },
    )
    this.#cursor = follower.cursor
    this.#run = { id, follower }
  }

  #leaveRun(): void {
    void this.#run?.follower.return()
    this.#run = undefined
    this.#mayHaveChanged = true
  }

  #encode(): string {
    const tip = this.#tip === this.#hold ? undefined : this.#tip
    return encodeCursor(this.#conversationId, this.#cursor, { tip, queue: this.#queue })
  }
}

function endsRun(event: RunEvent): boolean {
  return event.type === 'entry' && event.entry.type === 'status' && hasEnded(event.entry.status)
}

/** Cursors name the queue. Readers at the same place share one set of events. */
const namedEvents = new WeakMap<RunEvent, { readonly queue: string; readonly event: RunEvent }>()

function withQueue(event: RunEvent, queue: string): RunEvent {
  const known = namedEvents.get(event)
  if (known?.queue === queue) return known.event
  const named = { ...event, cursor: event.cursor + encodeKnown({ tip: undefined, queue }) }
  namedEvents.set(event, { queue, event: named })
  return named
}
