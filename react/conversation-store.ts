import type { Client } from '../client/client.ts'
import {
  CancelRun,
  RetryRun,
  SendMessage,
  type CancelRunData,
  type QueuedRunFields,
  type RetryRunData,
  type SendMessageData,
} from '../client/documents.ts'
import { followConversation, type ConversationFollower } from '../client/follow-conversation.ts'
import type { SendMessageInput } from '../client/schema-types.ts'
import { isRunOver, type TranscriptState } from '../client/transcript.ts'
import { newKey } from '../client/new-key.ts'
import { createStore, type Store } from './store.ts'

/** A message that was sent but is not part of the conversation yet. */
export interface Draft {
  readonly clientId: string
  readonly text: string
  /** Ids of the files that are sent with it. */
  readonly files: readonly string[]
  /** SENT: accepted. The run that answers it may still be waiting in the queue. */
  readonly state: 'SENDING' | 'SENT' | 'FAILED'
  /** Why it failed. */
  readonly problem?: string
}

export interface ConversationState extends TranscriptState {
  /** False until the newest messages have arrived. */
  readonly isLoaded: boolean
  readonly info: ConversationFollower['info']
  /** Messages that this client sent and that are neither in the conversation nor in its queue. */
  readonly drafts: readonly Draft[]
  /** Runs of the queue that have not started. */
  readonly waiting: readonly QueuedRunFields[]
  readonly hasOlder: boolean
  /** Whether a run holds the conversation. */
  readonly isActive: boolean
  /** What the model has written of its answer so far. Empty if it is not writing one. */
  readonly liveText: string
  /** Set if the server refuses to show the conversation. */
  readonly error: Error | undefined
}

export interface SendOptions extends Omit<SendMessageInput, 'to' | 'messages' | 'idempotencyKey' | 'waitMs'> {
  /** Ids of files of the conversation, which follow the text. With files, the text may be empty. */
  readonly files?: readonly string[]
}

export interface ConversationActions {
  /** Does not reject on a refusal, which is in the result. The text is shown as a draft at once. */
  send(text: string, options?: SendOptions): Promise<NonNullable<SendMessageData['sendMessage']>>
  /** Sends a failed draft again with the same key, so that it cannot arrive twice. */
  resend(clientId: string): Promise<void>
  discard(clientId: string): void
  cancel(): Promise<NonNullable<CancelRunData['cancelRun']>>
  /** Continues the latest run, which must have failed. */
  retry(): Promise<NonNullable<RetryRunData['retryRun']>>
  loadOlder(): Promise<void>
}

export interface ConversationStore extends Store<ConversationState> {
  readonly actions: ConversationActions
}

const empty: TranscriptState = {
  entries: [],
  pendingCalls: [],
  runs: [],
  latestRun: undefined,
  queue: [],
  cursor: undefined,
}

/** Shown by server-side rendering, and before anything has arrived. */
export const emptyConversation: ConversationState = {
  ...empty,
  isLoaded: false,
  info: undefined,
  drafts: [],
  waiting: [],
  hasOlder: false,
  isActive: false,
  liveText: '',
  error: undefined,
}

export function createConversationStore(client: Client, conversationId: string, forget: () => void): ConversationStore {
  let follower: ConversationFollower | undefined
  let drafts: readonly Draft[] = []
  let error: Error | undefined
  let state = emptyConversation
  let announce: () => void = () => {}
  const pending = new Map<string, SendMessageInput>()

  function update(): void {
    const transcript = follower?.transcript.state ?? empty
    const isStarted = new Set(transcript.runs.filter(({ status }) => status !== 'QUEUED').map(({ id }) => id))
    const waiting = transcript.queue.filter(({ id }) => !isStarted.has(id))
    const arrived = new Set([
      ...transcript.entries.flatMap((entry) =>
        entry.kind === 'message' && entry.message.clientId ? [entry.message.clientId] : [],
      ),
      ...waiting.flatMap(({ input }) => input.flatMap(({ clientId }) => clientId ?? [])),
    ])
    if (drafts.some(({ clientId }) => arrived.has(clientId)))
      drafts = drafts.filter(({ clientId }) => !arrived.has(clientId))
    const live = transcript.entries.findLast((entry) => entry.kind === 'live')
    state = {
      ...transcript,
      isLoaded: follower?.info !== undefined,
      info: follower?.info,
      drafts,
      waiting,
      hasOlder: follower?.hasOlder ?? false,
      isActive: transcript.latestRun !== undefined && !isRunOver(transcript.latestRun.status),
      liveText: live?.role === 'ASSISTANT' ? live.text : '',
      error,
    }
    announce()
  }

  function setDraft(draft: Draft): void {
    drafts = drafts.some(({ clientId }) => clientId === draft.clientId)
      ? drafts.map((one) => (one.clientId === draft.clientId ? draft : one))
      : [...drafts, draft]
    update()
  }

  async function deliver(draft: Draft): Promise<NonNullable<SendMessageData['sendMessage']>> {
    const { clientId, text, files } = draft
    const set = (state: Draft['state'], problem?: string): void =>
      setDraft({ clientId, text, files, state, ...(problem !== undefined && { problem }) })
    set('SENDING')
    try {
      const { sendMessage } = await client.request(SendMessage, { input: pending.get(clientId)! })
      if (sendMessage!.__typename === 'SendMessageSuccess') set('SENT')
      else set('FAILED', sendMessage!.message)
      return sendMessage!
    } catch (failure) {
      set('FAILED', failure instanceof Error ? failure.message : String(failure))
      throw failure
    }
  }

  const actions: ConversationActions = {
    send(text, { files = [], ...options } = {}) {
      const clientId = newKey()
      const to = { conversationId }
      const content = [...(text ? [{ text }] : []), ...files.map((fileId) => ({ fileId }))]
      const message = files.length > 0 ? { content, clientId } : { text, clientId }
      pending.set(clientId, { ...options, to, messages: [message], idempotencyKey: clientId })
      return deliver({ clientId, text, files, state: 'SENDING' })
    },
    async resend(clientId) {
      const draft = drafts.find((one) => one.clientId === clientId)
      if (draft) await deliver(draft)
    },
    discard(clientId) {
      drafts = drafts.filter((draft) => draft.clientId !== clientId)
      update()
    },
    async cancel() {
      const { cancelRun } = await client.request(CancelRun, { input: { conversationId } })
      return cancelRun!
    },
    async retry() {
      const { retryRun } = await client.request(RetryRun, { input: { runId: state.latestRun?.id ?? '' } })
      return retryRun!
    },
    loadOlder: async () => follower?.loadOlder(),
  }

  const store = createStore(
    (changed) => {
      announce = changed
      error = undefined
      const onError = (refusal: Error): void => {
        error = refusal
        update()
      }
      follower = followConversation(client, conversationId, { onChange: update, onError })
      return () => {
        follower?.stop()
        // A message that could not be sent is still there when the person comes back.
        drafts = drafts.filter(({ state }) => state !== 'SENT')
        if (drafts.length === 0) forget()
      }
    },
    () => state,
  )
  return { ...store, actions }
}
