import { HoldpointError, type Client } from './client.ts'
import { ConversationEvents, ConversationOlder, ConversationSnapshot, MessagesInContext } from './documents.ts'
import type { Follower, FollowOptions } from './follow-run.ts'
import { isFinal, keepSubscribed } from './keep-subscribed.ts'
import { createTranscript, isRunOver, type TranscriptEvent } from './transcript.ts'

export interface FollowConversationOptions extends FollowOptions {
  /**
   * How many of the newest messages to load, and how many more with each `loadOlder`. Defaults to 30. Pages of
   * about 35 reach the server's limit of what an operation may cost.
   */
  readonly pageSize?: number
}

export interface ConversationFollower extends Follower {
  readonly info:
    { readonly title: string | null; readonly agent: { readonly id: string; readonly name: string } } | undefined
  /** Whether messages exist that are older than those in the transcript. */
  readonly hasOlder: boolean
  loadOlder(): Promise<void>
}

/**
 * Shows a conversation and everything that happens in it: the newest messages by a query, then the events after its
 * cursor. It starts over with a query when another branch becomes current, when the server no longer accepts its
 * cursor, and when events are missing because the server has deleted them (`HOLDPOINT_KEEP_LOGS`).
 */
export function followConversation(
  client: Client,
  conversationId: string,
  options: FollowConversationOptions = {},
): ConversationFollower {
  const last = options.pageSize ?? 30
  const transcript = createTranscript()
  let info: ConversationFollower['info']
  let older: { readonly hasPreviousPage: boolean; readonly startCursor: string | null } | undefined
  let isStopped = false
  let unsubscribe: () => void = () => {}
  let attempts = 0
  /** The last `seq` of each run since the last query. */
  let lastSeq = new Map<string, number>()
  /** How often it was subscribed since the last query. */
  let subscriptions = 0
  /** How often it was asked which messages are in the context. */
  let questions = 0

  const changed = (): void => options.onChange?.(transcript)

  async function load(): Promise<void> {
    unsubscribe()
    const { conversation } = await client.request(ConversationSnapshot, { id: conversationId, last })
    if (isStopped) return
    if (!conversation) throw notFound(conversationId)
    lastSeq = new Map()
    subscriptions = 0
    info = { title: conversation.title, agent: conversation.agent }
    older = conversation.messages.pageInfo
    const run = conversation.latestRun
    transcript.load({
      messages: conversation.messages.nodes,
      runs: run ? [run] : [],
      queue: conversation.queue,
      cursor: conversation.lastCursor,
    })
    changed()
    subscribe(conversation.lastCursor)
  }

  function subscribe(lastCursor: string): void {
    unsubscribe = keepSubscribed(client, {
      document: ConversationEvents,
      variables() {
        subscriptions += 1
        return { conversationId, after: transcript.state.cursor ?? lastCursor }
      },
      next({ conversationEvents }) {
        const event: TranscriptEvent = conversationEvents
        if (isAfterGap(event)) return start()
        if (!transcript.apply(event)) return
        if (event.__typename !== 'QueueChanged' && event.__typename !== 'BranchChanged') options.onEvent?.(event)
        changed()
        if (event.__typename === 'BranchChanged') start()
        else if (mayMoveContext(event)) askForContext()
      },
      refused: (error) => (error.code === 'BAD_CURSOR' ? start() : options.onError?.(error)),
    })
  }

  /** A message is sent with what it was when it was stored. Later it may leave the context, or enter it. */
  function mayMoveContext(event: TranscriptEvent): boolean {
    if (event.__typename === 'MessageAdded') return event.message.__typename === 'SummaryMessage'
    if (event.__typename !== 'RunStatusChanged' || !isRunOver(event.status)) return false
    if (event.status === 'FAILED') return true
    return transcript.state.entries.some(
      (entry) => entry.kind === 'message' && entry.runId === event.runId && !entry.message.inContext,
    )
  }

  /** For the newest 200 messages, the most that one query gives. Of two answers, the later question's counts. */
  function askForContext(): void {
    const question = ++questions
    client.request(MessagesInContext, { id: conversationId }).then(
      ({ conversation }) => {
        if (isStopped || question !== questions || !conversation) return
        if (transcript.setInContext(conversation.messages.nodes)) changed()
      },
      // The next query has it.
      () => {},
    )
  }

  function isAfterGap(event: TranscriptEvent): boolean {
    if (!('seq' in event)) return false
    const before = lastSeq.get(event.runId)
    lastSeq.set(event.runId, Math.max(before ?? 0, event.seq))
    // Of a run that was under way at the query the first `seq` is not known. After a reconnect it may follow a gap.
    return before === undefined ? event.seq > 1 && subscriptions > 1 : event.seq > before + 1
  }

  function start(): void {
    load().then(
      () => {
        if (attempts > 0) client.connection.opened()
        attempts = 0
      },
      (error: unknown) => {
        if (isStopped) return
        if (isFinal(error)) return options.onError?.(error)
        client.connection.lost()
        setTimeout(() => !isStopped && start(), Math.min(250 * 2 ** attempts++, 5_000))
      },
    )
  }

  start()
  return {
    transcript,
    get info() {
      return info
    },
    get hasOlder() {
      return older?.hasPreviousPage ?? false
    },
    async loadOlder() {
      if (!older?.hasPreviousPage) return
      const before = older.startCursor
      const { conversation } = await client.request(ConversationOlder, { id: conversationId, last, before })
      // A second call, or a change of branch, may have been faster.
      if (!conversation || isStopped || older.startCursor !== before) return
      older = conversation.messages.pageInfo
      transcript.addMessages(conversation.messages.nodes)
      changed()
    },
    stop() {
      isStopped = true
      unsubscribe()
    },
  }
}

function notFound(id: string): HoldpointError {
  return new HoldpointError([{ message: `There is no conversation ${id}.`, extensions: { code: 'NOT_FOUND' } }])
}
