import type { ChatTransport, UIMessage, UIMessageChunk } from 'ai'

import type { Client } from '../client/client.ts'
import { decideWaiting } from '../client/decide.ts'
import { CancelRun, ConversationSnapshot, type ToolCallFields } from '../client/documents.ts'
import { followConversation } from '../client/follow-conversation.ts'
import { loadTranscript } from '../client/load-transcript.ts'
import { runParts, type RunPart } from '../client/run-parts.ts'
import type { ApprovalDecisionInput, ClientToolInput, ContentPartInput } from '../client/schema-types.ts'
import { isRunOver } from '../client/transcript.ts'
import { conversationOf, filePart, listSent, startTurn, type Turn, type TurnOptions } from '../client/turns.ts'
import { byOf, errorOf, inputOf, outputOf, toUiMessages, type ChatMetadata } from './ui-messages.ts'

export type { ChatMetadata }

export interface ChatTransportOptions extends TurnOptions {
  /** Tools that the page runs itself. A call of one waits for `addToolOutput`. */
  readonly clientTools?: readonly ClientToolInput[]
}

export interface HoldpointTransport<Message extends UIMessage> extends ChatTransport<Message> {
  /**
   * Shows the whole conversation as it happens, also what other people and pages do: the newest messages first, then
   * every change. While the chat streams an answer of its own, changes wait. Call it in an effect, with the `setMessages`
   * of `useChat`, and call `stop` when the page goes.
   */
  follow(
    chatId: string,
    setMessages: (update: (current: Message[]) => Message[]) => void,
    onError?: (error: Error) => void,
  ): ChatFollower
}

export interface ChatFollower {
  readonly hasOlder: boolean
  loadOlder(): Promise<void>
  stop(): void
}

/** What a page shows of a chat, and what it is doing there. */
interface OpenChat {
  readonly conversationId: Promise<string>
  shown: readonly Shown[]
  /** Messages are sent one after another, and not before an earlier run has been told to stop. */
  tasks: Promise<unknown>
  stopping: Promise<unknown>
  streams: number
  /** The last run that was streamed, and whether it ended. `follow` waits until it has got as far, but not for ever. */
  last: { readonly runId: string; readonly isOver: boolean; readonly until: number } | undefined
  /** Messages that the server has refused. They are not part of the conversation, so `follow` drops them. */
  readonly refused: Set<string>
  onIdle: () => void
}

type Shown = Pick<UIMessage, 'id' | 'role'>

/** How long `follow` may lag behind a stream of the chat. After that, what it has is shown. */
const catchUpMs = 2_000

/** What `loadMessages` gave to the page, by conversation. */
const loaded = new WeakMap<Client, Map<string, readonly Shown[]>>()

/**
 * A transport for `useChat` of the AI SDK. The id of the chat is the id of a conversation, or any id if `agentId` is
 * given, and the id of an answer is the id of its run. Tool calls are dynamic tool parts. A call that waits for approval
 * is answered with `addToolApprovalResponse`, a call of a client tool with `addToolOutput`; both continue the run.
 *
 * `stop()` cancels the run. A page that is closed or reloaded does not: `follow`, or `useChat({ resume: true })`, shows
 * the rest.
 */
export function createChatTransport<Message extends UIMessage = UIMessage>(
  client: Client,
  options: ChatTransportOptions = {},
): HoldpointTransport<Message> {
  const chats = new Map<string, OpenChat>()

  function open(id: string): OpenChat {
    const known = chats.get(id)
    if (known) return known
    const conversationId = conversationOf(client, id, options)
    // The next use tries again.
    conversationId.catch(() => chats.delete(id))
    const chat: OpenChat = {
      conversationId,
      shown: loaded.get(client)?.get(id) ?? [],
      tasks: Promise.resolve(),
      stopping: Promise.resolve(),
      streams: 0,
      last: undefined,
      refused: new Set(),
      onIdle: () => {},
    }
    chats.set(id, chat)
    return chat
  }

  return {
    resumeStreamIsReplay: true,
    sendMessages({ trigger, chatId, messageId, messages, abortSignal }) {
      const chat = open(chatId)
      chat.streams += 1
      const task = chat.tasks.then(async () => {
        await chat.stopping
        abortSignal?.throwIfAborted()
        const answered = messages.find(({ id }) => id === messageId) ?? messages.at(-1)
        if (trigger !== 'regenerate-message' && answered?.role === 'assistant')
          return toStream(client, chat, { runId: answered.id, known: await answer(client, answered) }, abortSignal)
        const turn = await turnOf(client, chat, { trigger, messageId, messages, clientTools: options.clientTools })
        const runId = await startTurn(client, await chat.conversationId, turn, options)
        chat.shown = [...messages, { id: runId, role: 'assistant' }]
        return toStream(client, chat, { runId }, abortSignal)
      })
      const done = (): void => {
        chat.streams -= 1
        // After a refusal the page shows again what it hid for the message.
        setTimeout(() => chat.onIdle())
      }
      chat.tasks = task
        .catch((error: unknown) => {
          const last = messages.at(-1)
          const isRefused = !(error instanceof TypeError) && !abortSignal?.aborted
          // One that was lost on the way stays, for `regenerate`.
          if (isRefused && last?.role === 'user') chat.refused.add(last.id)
        })
        .then(done)
      return task
    },
    async reconnectToStream({ chatId, abortSignal }) {
      const chat = open(chatId)
      const { conversation } = await client.request(ConversationSnapshot, { id: await chat.conversationId, last: 1 })
      const run = conversation?.latestRun
      return run && !isRunOver(run.status) ? toStream(client, chat, { runId: run.id }, abortSignal) : null
    },
    follow: (chatId, setMessages, onError) => follow(client, open(chatId), setMessages, onError),
  }
}

/** Newest messages of a conversation, or with `before` those before them. `before` of the result is for the next page. */
export async function loadMessages(
  client: Client,
  conversationId: string,
  { before, pageSize }: { readonly before?: string; readonly pageSize?: number } = {},
): Promise<{ readonly messages: UIMessage[]; readonly before: string | undefined }> {
  const page = await loadTranscript(client, conversationId, {
    before,
    pageSize,
    // An answer is not divided between two pages.
    needsMore: ({ state }) => toUiMessages(state)[0]?.role === 'assistant',
  })
  const messages = toUiMessages(page.transcript.state)
  const ofClient = loaded.get(client) ?? new Map<string, readonly Shown[]>()
  loaded.set(client, ofClient)
  ofClient.set(conversationId, [...messages, ...(before === undefined ? [] : (ofClient.get(conversationId) ?? []))])
  return { messages, before: page.before }
}

function follow<Message extends UIMessage>(
  client: Client,
  chat: OpenChat,
  setMessages: (update: (current: Message[]) => Message[]) => void,
  onError: (error: Error) => void = () => {},
): ChatFollower {
  let follower: ReturnType<typeof followConversation> | undefined
  let isStopped = false
  /** Ids that the server has had. A message without one could not be sent, and stays on the page. */
  const stored = new Set<string>()

  function show(): void {
    const state = follower?.transcript.state
    if (!state || chat.streams > 0) return
    const { last } = chat
    const run = last && state.runs.find(({ id }) => id === last.runId)
    if (last && Date.now() < last.until && (!run || (last.isOver && !isRunOver(run.status)))) return
    chat.last = undefined
    const messages = toUiMessages(state)
    for (const { id } of messages) stored.add(id)
    chat.shown = messages
    setMessages((current) => [
      ...messages.map((message) => withOwn(message as Message, current)),
      ...current.filter(({ id, role }) => role === 'user' && !stored.has(id) && !chat.refused.has(id)),
    ])
  }

  chat.onIdle = show
  chat.conversationId.then((id) => {
    if (!isStopped) follower = followConversation(client, id, { onChange: show, onError })
  }, onError)
  return {
    get hasOlder() {
      return follower?.hasOlder ?? false
    },
    loadOlder: async () => follower?.loadOlder(),
    stop() {
      isStopped = true
      chat.onIdle = () => {}
      follower?.stop()
    },
  }
}

/** Keeps what only the page has: answers that it has not sent yet, and what a stream told about the run. */
function withOwn<Message extends UIMessage>(message: Message, current: readonly Message[]): Message {
  const own = current.find(({ id }) => id === message.id)
  if (!own) return message
  const parts = message.parts.map((part) => {
    if (!('toolCallId' in part) || (part.state !== 'approval-requested' && part.state !== 'input-available'))
      return part
    const known = own.parts.find((one) => 'toolCallId' in one && one.toolCallId === part.toolCallId)
    return known && 'state' in known && isAnswered(known, part.state) ? known : part
  })
  return { ...message, parts, metadata: { ...(own.metadata as object), ...(message.metadata as object) } }
}

function isAnswered(part: object, asked: 'approval-requested' | 'input-available'): boolean {
  const { state, providerExecuted } = part as { readonly state?: string; readonly providerExecuted?: boolean }
  if (asked === 'approval-requested') return state === 'approval-responded'
  return !providerExecuted && (state === 'output-available' || state === 'output-error')
}

interface Request {
  readonly trigger: 'submit-message' | 'regenerate-message'
  readonly messageId: string | undefined
  readonly messages: readonly UIMessage[]
  readonly clientTools: readonly ClientToolInput[] | undefined
}

/** The page's messages become the server's branch. */
async function turnOf(
  client: Client,
  chat: OpenChat,
  { trigger, messageId, messages, clientTools }: Request,
): Promise<Turn> {
  const conversationId = await chat.conversationId
  const last = messages.at(-1)
  const isAgain = trigger === 'regenerate-message'
  if (isAgain && messageId?.startsWith('run_')) return { kind: 'regenerate', runId: messageId }
  if (last?.role !== 'user') throw new Error('There is no message to answer.')
  const replaced = isAgain ? last.id : (messageId ?? droppedId(chat.shown, messages))
  const { sent } = replaced === undefined ? { sent: [] } : await listSent(client, conversationId)
  const known = sent.find(({ shownId }) => shownId === replaced)
  if (isAgain && known) return { kind: 'regenerate', runId: known.run.id }
  const content: ContentPartInput[] = []
  for (const part of last.parts) content.push(...(await contentOf(client, conversationId, part)))
  const message = { clientId: last.id, content }
  if (known) return { kind: 'edit', messageId: known.id, message }
  return { kind: 'send', messages: [message], clientTools, idempotencyKey: last.id }
}

/** The message that the page has replaced by a new one: it had one after the same answer. */
function droppedId(shown: readonly Shown[], messages: readonly UIMessage[]): string | undefined {
  const [parent, last] = [messages.at(-2)?.id, messages.at(-1)?.id]
  const place = shown.findIndex(({ id }) => id === parent)
  if (parent !== undefined && place === -1) return undefined
  const next = shown.slice(place + 1).find(({ role }) => role === 'user')?.id
  // The same message again is no other version of itself.
  return next === last ? undefined : next
}

/** The text and files of a message. Other parts are the application's own. */
async function contentOf(
  client: Client,
  conversationId: string,
  part: UIMessage['parts'][number],
): Promise<ContentPartInput[]> {
  if (part.type === 'text') return part.text === '' ? [] : [{ text: part.text }]
  if (part.type !== 'file') return []
  return [await filePart(client, conversationId, { ...part, name: part.filename })]
}

type ToolPart = Extract<UIMessage['parts'][number], { readonly toolCallId: string }>

/** Sends a person's decisions, and results of client tools. Returns which calls the page has, and their results. */
async function answer(client: Client, { id, parts }: UIMessage): Promise<ReadonlyMap<string, boolean>> {
  const calls = parts.filter((part): part is ToolPart => 'toolCallId' in part)
  await decideWaiting(client, id, calls.flatMap(decisionOf))
  return new Map(calls.map((part) => [part.toolCallId, isSettled(part)]))
}

/** Results that came from the server are marked. */
const isSettled = ({ state, providerExecuted }: ToolPart): boolean =>
  state === 'output-denied' || (Boolean(providerExecuted) && state.startsWith('output'))

function decisionOf(part: ToolPart): ApprovalDecisionInput[] {
  const { toolCallId } = part
  if (part.state === 'approval-responded') {
    const { approved, reason } = part.approval
    return [approved ? { approve: { toolCallId } } : { deny: { toolCallId, reason } }]
  }
  if (part.providerExecuted) return []
  if (part.state === 'output-available')
    return [{ toolReturn: { toolCallId, status: 'SUCCESS', output: textOf(part.output) } }]
  if (part.state === 'output-error') return [{ toolReturn: { toolCallId, status: 'ERROR', output: part.errorText } }]
  return []
}

function textOf(output: unknown): string {
  return typeof output === 'string' ? output : JSON.stringify(output ?? null)
}

interface Place {
  readonly runId: string
  readonly known?: ReadonlyMap<string, boolean>
}

function toStream(
  client: Client,
  chat: OpenChat,
  { runId, known }: Place,
  abortSignal: AbortSignal | undefined,
): ReadableStream<UIMessageChunk> {
  const gone = new AbortController()
  const stop = (): void => {
    chat.stopping = client.request(CancelRun, { input: { runId } }).catch(() => {})
  }
  if (abortSignal?.aborted) stop()
  else abortSignal?.addEventListener('abort', stop)
  const parts = runParts(client, runId, { known, signal: gone.signal })
  const toChunks = createChunkMaker()
  let isOpen = true
  chat.streams += 1
  const close = (): void => {
    if (!isOpen) return
    isOpen = false
    abortSignal?.removeEventListener('abort', stop)
    chat.streams -= 1
    // The chat first takes what it has been given.
    setTimeout(() => chat.onIdle())
    setTimeout(() => chat.onIdle(), catchUpMs)
  }
  return new ReadableStream<UIMessageChunk>({
    start: (controller) => controller.enqueue({ type: 'start', messageId: runId }),
    async pull(controller) {
      try {
        const { done, value } = await parts.next()
        if (value) for (const chunk of toChunks(value)) controller.enqueue(chunk)
        if (value?.type === 'pause' || value?.type === 'end')
          chat.last = { runId, isOver: value.type === 'end', until: Date.now() + catchUpMs }
        if (!done) return
        close()
        controller.close()
      } catch (error) {
        close()
        throw error
      }
    },
    async cancel() {
      close()
      gone.abort()
      await parts.return(undefined)
    },
  })
}

/**
 * `reset-step` drops all parts of the step. Those that are stored, such as the text before a call that was cancelled
 * while it was written, are then sent again.
 */
function createChunkMaker(): (part: RunPart) => UIMessageChunk[] {
  let stored: UIMessageChunk[] = []
  const open = new Map<string, UIMessageChunk[]>()
  return (part) => {
    const chunks = toChunks(part)
    switch (part.type) {
      case 'step-start':
        stored = []
        break
      case 'step-reset':
        open.clear()
        return [...chunks, ...stored]
      case 'text-start':
        open.set(part.id, [...chunks])
        break
      case 'text':
        open.get(part.id)?.push(...chunks)
        break
      case 'text-end':
        stored.push(...(open.get(part.id) ?? []), ...chunks)
        break
      case 'call':
      case 'call-end':
        stored.push(...chunks)
        break
      default:
    }
    return chunks
  }
}

/** The server executes a tool unless the client sent it. In that case the application may give its output. */
function toChunks(part: RunPart): UIMessageChunk[] {
  switch (part.type) {
    case 'step-start':
      return [{ type: 'start-step' }]
    case 'step-end':
      return [
        { type: 'finish-step' },
        ...(part.model ? [{ type: 'message-metadata' as const, messageMetadata: { model: part.model } }] : []),
      ]
    case 'step-reset':
      return [{ type: 'reset-step' }]
    case 'text-start':
      return [{ type: part.kind === 'ASSISTANT' ? 'text-start' : 'reasoning-start', id: part.id }]
    case 'text':
      return [{ type: part.kind === 'ASSISTANT' ? 'text-delta' : 'reasoning-delta', id: part.id, delta: part.text }]
    case 'text-end':
      return [{ type: part.kind === 'ASSISTANT' ? 'text-end' : 'reasoning-end', id: part.id }]
    case 'call-start':
      return [{ type: 'tool-input-start', toolCallId: part.id, toolName: part.name, dynamic: true }]
    case 'call-text':
      return [{ type: 'tool-input-delta', toolCallId: part.id, inputTextDelta: part.text }]
    case 'call': {
      const { call } = part
      return [{ type: 'tool-input-available', ...aboutOf(call) }, ...approvalOf(call)]
    }
    case 'call-progress':
      return [{ type: 'data-progress', id: part.id, data: part.progress }]
    case 'call-end': {
      const { call } = part
      const about = { toolCallId: call.id, dynamic: true, providerExecuted: true }
      const edited = call.editedArguments === null ? [] : toChunks({ type: 'call', call })
      const decided = edited.length > 0 ? edited : responseOf(call)
      if (call.status === 'DENIED') return [...decided, { type: 'tool-output-denied', toolCallId: call.id }]
      if (call.status === 'SUCCEEDED')
        return [...decided, { type: 'tool-output-available', ...about, output: outputOf(call) }]
      return [...decided, { type: 'tool-output-error', ...about, errorText: errorOf(call) }]
    }
    case 'pause':
      // Also those that this page has approved and that need another person's approval too.
      return [...part.calls.flatMap(requestOf), { type: 'finish', finishReason: 'tool-calls' }]
    case 'end': {
      const { status, usage, stopReason, at: finishedAt, message } = part
      const messageMetadata: ChatMetadata = { ...(usage && { usage }), stopReason, finishedAt }
      if (status === 'FAILED')
        return [
          { type: 'message-metadata', messageMetadata },
          { type: 'error', errorText: message ?? 'The run failed.' },
        ]
      if (status === 'CANCELLED') return [{ type: 'message-metadata', messageMetadata }, { type: 'abort' }]
      return [{ type: 'finish', finishReason: 'stop', messageMetadata }]
    }
    default:
      return part satisfies never
  }
}

function aboutOf(call: ToolCallFields) {
  return { toolCallId: call.id, toolName: call.name, input: inputOf(call), dynamic: true }
}

function approvalOf(call: ToolCallFields): UIMessageChunk[] {
  return [...requestOf(call), ...responseOf(call)]
}

function requestOf({ id, needs }: ToolCallFields): UIMessageChunk[] {
  return needs === 'APPROVAL' ? [{ type: 'tool-approval-request', approvalId: id, toolCallId: id }] : []
}

/** The decision that counts, whoever made it. */
function responseOf(call: ToolCallFields): UIMessageChunk[] {
  const { id, needs, decision, status } = call
  if (needs !== 'APPROVAL' || !decision || status === 'PENDING') return []
  const by = byOf(call).callProviderMetadata
  const reason = decision.reason ?? undefined
  return [
    {
      type: 'tool-approval-response',
      approvalId: id,
      approved: status !== 'DENIED',
      ...(reason !== undefined && { reason }),
      ...(by && { providerMetadata: by }),
    },
  ]
}
