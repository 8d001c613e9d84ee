import type { AGUIEvent, EventType, Message, RunAgentInput } from '@ag-ui/core'

import type { Client } from '../client/client.ts'
import { decideWaiting } from '../client/decide.ts'
import { CancelRun, type ToolCallFields } from '../client/documents.ts'
import { loadTranscript } from '../client/load-transcript.ts'
import { runParts, type RunPart } from '../client/run-parts.ts'
import type { ApprovalDecisionInput, ContentPartInput, NewMessageInput } from '../client/schema-types.ts'
import { isRunOver, type TranscriptState } from '../client/transcript.ts'
import {
  conversationOf,
  filePart,
  listSent,
  startTurn,
  type SentMessage,
  type Turn,
  type TurnOptions,
} from '../client/turns.ts'

/**
 * An AG-UI endpoint on top of Holdpoint, for the HTTP server of your application: `HttpAgent` and everything built on
 * it can call this handler. The id of the thread is the id of a conversation, or any id if `agentId` is given. A call
 * that needs approval ends the AG-UI run with an interrupt; resume it with `{ approved: true }`, optionally with edited
 * `arguments`, or `{ approved: false, reason }`. A call of a frontend tool is answered by the tool message of the next
 * run.
 *
 * The messages of the client are the branch: one that follows an earlier answer replaces what followed it, and a list
 * that ends with an answered message asks for another answer. Without messages, the client gets the whole conversation.
 *
 * A client that disconnects does not cancel the run, unless `cancelOnDisconnect` says so. After a lost connection, run
 * the agent again without a new message: the answer is sent from its beginning.
 */
export function createAgUiHandler(client: Client, options: AgUiOptions = {}): (request: Request) => Promise<Response> {
  /** Runs that are told to stop, by thread. The next message waits for it. */
  const stopping = new Map<string, Promise<unknown>>()
  return async (request) => {
    const input = (await request.json()) as RunAgentInput
    const gone = new AbortController()
    await stopping.get(input.threadId)
    const events = agUiEvents(client, input, options, gone.signal, (runId) => {
      const cancelled = client.request(CancelRun, { input: { runId } }).catch(() => {})
      stopping.set(input.threadId, cancelled)
      void cancelled.then(() => stopping.get(input.threadId) === cancelled && stopping.delete(input.threadId))
    })
    const encoder = new TextEncoder()
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = await events.next()
        if (done) return controller.close()
        controller.enqueue(encoder.encode(`data: ${JSON.stringify(value)}\n\n`))
      },
      async cancel() {
        gone.abort()
        await events.return(undefined)
      },
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' } })
  }
}

export interface AgUiOptions extends TurnOptions {
  /**
   * Whether a client that closes its connection cancels the run. `abortRun` of an AG-UI client does just that, and so
   * do a closed page and a lost network. Defaults to false.
   */
  readonly cancelOnDisconnect?: boolean
}

/** The events of one AG-UI run. */
async function* agUiEvents(
  client: Client,
  input: RunAgentInput,
  options: AgUiOptions,
  signal: AbortSignal,
  cancel: (runId: string) => void,
): AsyncGenerator<AGUIEvent> {
  const { threadId, runId } = input
  const ids = { threadId, runId }
  yield event('RUN_STARTED', ids)
  try {
    const { id, known, messages, notRun = [] } = await begin(client, input, options)
    if (id && options.cancelOnDisconnect) whenAborted(signal, () => cancel(id))
    // What the client should not have, or has of this run already, goes; what it does not have comes.
    if (messages.length !== input.messages.length) yield event('MESSAGES_SNAPSHOT', { messages })
    for (const toolCallId of notRun) {
      const content = 'Not run: a new message came first.'
      yield event('TOOL_CALL_RESULT', { messageId: resultId(toolCallId), toolCallId, role: 'tool', content })
    }
    if (!id) return yield event('RUN_FINISHED', ids)
    const toEvents = createEventMaker({ threadId, runId, messages })
    for await (const part of runParts(client, id, { known, signal })) yield* toEvents(part)
  } catch (error) {
    yield event('RUN_ERROR', { message: error instanceof Error ? error.message : String(error) })
  }
}

function whenAborted(signal: AbortSignal, act: () => void): void {
  if (signal.aborted) act()
  else signal.addEventListener('abort', act)
}

/** The names of the enum are its values. The package itself is not loaded. */
function event(type: `${EventType}`, fields: object): AGUIEvent {
  const made: object = { type, ...fields }
  return made as AGUIEvent
}

interface Place {
  /** The run to follow. Undefined if there is none. */
  readonly id: string | undefined
  /** The client's messages before the events that follow. */
  readonly messages: readonly Message[]
  /** Calls of the run that the client has, and whether it has their results. */
  readonly known?: ReadonlyMap<string, boolean>
  /** Calls that a new message has denied. */
  readonly notRun?: readonly string[]
}

/**
 * Starts a run with the new messages, makes another version of a turn, or continues the run that waits for these
 * answers. Without any of these, the client has lost its connection, and gets the last run again.
 */
async function begin(client: Client, input: RunAgentInput, options: AgUiOptions): Promise<Place> {
  const { messages } = input
  const conversationId = await conversationOf(client, input.threadId, options)
  if (messages.length === 0 && !input.resume?.length) return history(client, conversationId)
  const { sent, latestRunId } = await listSent(client, conversationId)
  const sentAs = (message: Message | undefined) => sent.find(({ shownId }) => shownId === message?.id)
  const lastUser = messages.findLastIndex(({ role }) => role === 'user')
  const answered = messages.slice(0, lastUser + 1)
  const runId = sentAs(messages[lastUser])?.run.id ?? latestRunId

  const resumed = new Set((input.resume ?? []).map(({ interruptId }) => interruptId))
  // Some clients answer an interrupt with a tool message too. The result of the call takes its place.
  const kept = messages.filter((message) => message.role !== 'tool' || !resumed.has(message.toolCallId))
  const decisions = decisionsOf(input, resumed)
  const place = messages.findLastIndex(({ role }) => !isSent(role))
  const fresh = kept.slice(kept.indexOf(messages[place]!) + 1)
  const last = fresh.findLast(({ role }) => role === 'user') ?? fresh.at(-1)
  const isNew = last !== undefined && !sentAs(last)
  if (decisions.length > 0 && !isNew) {
    if (!runId) throw new Error(`The conversation ${conversationId} has no waiting run.`)
    await decideWaiting(client, runId, decisions)
    return { id: runId, messages: kept, known: callsOf(kept.slice(lastUser + 1)) }
  }
  if (!last) {
    if (!latestRunId) throw new Error(`The conversation ${conversationId} has no run yet: send a message.`)
    return { id: latestRunId, messages: answered }
  }

  const again = sentAs(last)
  if (again?.text === textOf(last)) {
    const { id, status } = again.run
    if (!isRunOver(status)) return { id, messages }
    return { id: await startTurn(client, conversationId, { kind: 'regenerate', runId: id }, options), messages }
  }
  const given: NewMessageInput[] = []
  for (const message of fresh)
    if (!sentAs(message) || message === last) given.push(await messageOf(client, conversationId, message))
  const parent = sentAs(messages.slice(0, place + 1).findLast(({ role }) => role === 'user'))
  const replaced = again ?? (parent && sent.slice(sent.indexOf(parent)).find((one) => isNextOwnTurn(one, parent)))
  const turn: Turn = replaced
    ? { kind: 'edit', messageId: replaced.id, message: given.at(-1)! }
    : {
        kind: 'send',
        messages: [...contextOf(input, sent), ...given],
        // A client that lost its connection before the first event sends the message again.
        idempotencyKey: `${input.threadId} ${last.id}`.slice(-200),
        clientTools: input.tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
        ...(hasFields(input.forwardedProps) && { metadata: { forwardedProps: input.forwardedProps } }),
      }
  // A person who says something else instead of answering an interrupt has cancelled it.
  const isCancelled = resumed.size > 0 && input.resume!.every(({ status }) => status === 'cancelled')
  const id = await startTurn(client, conversationId, turn, isCancelled ? { whenBusy: 'INTERRUPT' } : options)
  return { id, messages: kept, notRun: isCancelled ? [...resumed] : [] }
}

async function messageOf(client: Client, conversationId: string, message: Message): Promise<NewMessageInput> {
  const clientId = message.id
  if (message.role !== 'user') return { clientId, role: 'SYSTEM', text: textOf(message) }
  return { clientId, content: await contentOf(client, conversationId, message) }
}

const isSent = (role: Message['role']): boolean => ['user', 'system', 'developer'].includes(role)

/** The first message of another turn. One that another actor sent is never replaced: the client may not have seen it. */
function isNextOwnTurn({ run, isFromUser, isOwn }: SentMessage, parent: SentMessage): boolean {
  return isFromUser && isOwn && run.id !== parent.run.id
}

function hasFields(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0
}

/** The `clientId` of messages with what the application says about itself. */
const contextId = 'ag-ui context'

/** What the application says about itself, as a system message, if the conversation does not have it yet. */
function contextOf({ context, state }: RunAgentInput, sent: readonly SentMessage[]): NewMessageInput[] {
  const lines = context.map(({ description, value }) => `${description}: ${value}`)
  if (hasFields(state)) lines.push(`State of the application: ${JSON.stringify(state)}`)
  const text = lines.join('\n')
  const known = sent.findLast(({ shownId }) => shownId === contextId)?.text ?? ''
  return text === known || text === '' ? [] : [{ clientId: contextId, role: 'SYSTEM', text }]
}

/** The conversation, at most its newest 1,000 messages, and the run that is under way. */
async function history(client: Client, conversationId: string): Promise<Place> {
  const needsMore = ({ state }: { readonly state: TranscriptState }) => state.entries.length < 1_000
  const { transcript } = await loadTranscript(client, conversationId, { needsMore })
  const { entries, latestRun } = transcript.state
  const id = latestRun && !isRunOver(latestRun.status) ? latestRun.id : undefined
  const messages = entries.flatMap((entry): Message[] => {
    if (entry.kind === 'call') return entry.runId === id ? [] : [callMessage(entry.call), resultMessage(entry.call)]
    if (entry.kind === 'live') return []
    const { message, runId } = entry
    const { clientId, text } = message
    if (message.__typename === 'SummaryMessage' || clientId === contextId) return []
    if (message.__typename === 'SystemMessage') return [{ id: clientId ?? message.id, role: 'system', content: text }]
    if (message.__typename !== 'UserMessage')
      return runId === id
        ? []
        : [{ id: message.id, role: roleOf(message.__typename === 'AssistantMessage'), content: text }]
    const files = message.content.flatMap(({ imageUrl, documentUrl }) => {
      const value = imageUrl ?? documentUrl
      return value
        ? [{ type: imageUrl ? ('image' as const) : ('document' as const), source: { type: 'url' as const, value } }]
        : []
    })
    const content = files.length > 0 ? [{ type: 'text' as const, text }, ...files] : text
    return [{ id: clientId ?? message.id, role: 'user', content }]
  })
  return { id, messages }
}

const roleOf = (isAnswer: boolean) => (isAnswer ? 'assistant' : 'reasoning')

function callMessage({ id, name, argumentsText }: ToolCallFields): Message {
  return { id, role: 'assistant', toolCalls: [{ id, type: 'function', function: { name, arguments: argumentsText } }] }
}

function resultMessage({ id, result }: ToolCallFields): Message & { readonly role: 'tool' } {
  const content = result?.output || (result?.json ? JSON.stringify(result.json) : '')
  return { id: resultId(id), role: 'tool', toolCallId: id, content }
}

const resultId = (callId: string): string => `${callId}-result`

function callsOf(messages: readonly Message[]): ReadonlyMap<string, boolean> {
  const done = new Set(messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : [])))
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
  return new Map(calls.map(({ id }) => [id, done.has(id)]))
}

/** Answers to interrupts, and results of frontend tools after the agent's last answer. */
function decisionsOf({ resume = [], messages }: RunAgentInput, resumed: ReadonlySet<string>): ApprovalDecisionInput[] {
  const answers = resume.map(({ interruptId: toolCallId, status, payload }): ApprovalDecisionInput => {
    const { approved, arguments: edited, reason } = (payload ?? {}) as Answer
    if (status === 'resolved' && approved)
      return { approve: { toolCallId, ...(edited !== undefined && { arguments: edited }) } }
    return { deny: { toolCallId, reason } }
  })
  const lastAnswer = messages.findLastIndex(({ role }) => role !== 'tool')
  const returns = messages.slice(lastAnswer + 1).flatMap((message): ApprovalDecisionInput[] => {
    // Results of the server's tools have ids of the server.
    if (message.role !== 'tool' || message.id === resultId(message.toolCallId) || resumed.has(message.toolCallId))
      return []
    const { toolCallId, error } = message
    const status = error === undefined ? 'SUCCESS' : 'ERROR'
    return [{ toolReturn: { toolCallId, status, output: error ?? textOf(message) } }]
  })
  return [...answers, ...returns]
}

interface Answer {
  readonly approved?: boolean
  readonly arguments?: unknown
  readonly reason?: string
}

/** Audio and video, and files that only a provider has, are left out. */
async function contentOf(client: Client, conversationId: string, message: Message): Promise<ContentPartInput[]> {
  if (!Array.isArray(message.content)) return [{ text: textOf(message) }]
  const parts: ContentPartInput[] = []
  for (const part of message.content) {
    if (part.type === 'text') parts.push({ text: part.text })
    if ((part.type !== 'image' && part.type !== 'document') || part.source.type === 'file') continue
    const { type, value, mimeType = part.type === 'image' ? 'image/*' : '' } = part.source
    const url = type === 'data' ? `data:${mimeType};base64,${value}` : value
    const { filename, name = filename } = (part.metadata ?? {}) as { filename?: string; name?: string }
    parts.push(
      await filePart(client, conversationId, { url, mediaType: part.type === 'image' ? 'image/*' : mimeType, name }),
    )
  }
  return parts
}

function textOf({ content }: Message): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return JSON.stringify(content ?? '')
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

/** AG-UI cannot withdraw what was streamed, so after a step starts again all messages that remain are sent. */
function createEventMaker({
  threadId,
  runId,
  messages,
}: {
  readonly threadId: string
  readonly runId: string
  readonly messages: readonly Message[]
}): (part: RunPart) => AGUIEvent[] {
  const kept: Message[] = [...messages]
  const open = new Map<string, { readonly end: AGUIEvent; text: string }>()
  let inStep = false
  let model: string | undefined

  /** A step that is interrupted by a pause or a failure has to be finished too. */
  function endStep(): AGUIEvent[] {
    const wasInStep = inStep
    inStep = false
    return wasInStep ? [event('STEP_FINISHED', { stepName: 'step' })] : []
  }

  function start(id: string, first: AGUIEvent, end: AGUIEvent): AGUIEvent[] {
    open.set(id, { end, text: '' })
    return [first]
  }

  function add(id: string, text: string): void {
    open.get(id)!.text += text
  }

  function close(id: string): AGUIEvent[] {
    const item = open.get(id)
    open.delete(id)
    return item ? [item.end] : []
  }

  return (part) => {
    switch (part.type) {
      case 'step-start':
        inStep = true
        return [event('STEP_STARTED', { stepName: 'step' })]
      case 'step-end':
        model = part.model
        return endStep()
      case 'step-reset': {
        const ends = [...open.values()].map(({ end }) => end)
        open.clear()
        return [...ends, event('MESSAGES_SNAPSHOT', { messages: kept })]
      }
      case 'text-start': {
        const about = { messageId: part.id }
        return part.kind === 'ASSISTANT'
          ? start(
              part.id,
              event('TEXT_MESSAGE_START', { ...about, role: 'assistant' }),
              event('TEXT_MESSAGE_END', about),
            )
          : start(
              part.id,
              event('REASONING_MESSAGE_START', { ...about, role: 'reasoning' }),
              event('REASONING_MESSAGE_END', about),
            )
      }
      case 'text': {
        add(part.id, part.text)
        const type = part.kind === 'ASSISTANT' ? 'TEXT_MESSAGE_CONTENT' : 'REASONING_MESSAGE_CONTENT'
        return [event(type, { messageId: part.id, delta: part.text })]
      }
      case 'text-end': {
        const content = open.get(part.id)?.text ?? ''
        kept.push({ id: part.id, role: part.kind === 'ASSISTANT' ? 'assistant' : 'reasoning', content })
        return close(part.id)
      }
      case 'call-start': {
        const about = { toolCallId: part.id, toolCallName: part.name }
        return start(part.id, event('TOOL_CALL_START', about), event('TOOL_CALL_END', { toolCallId: part.id }))
      }
      case 'call-text':
        return [event('TOOL_CALL_ARGS', { toolCallId: part.id, delta: part.text })]
      case 'call':
        kept.push(callMessage(part.call))
        return close(part.call.id)
      case 'call-progress':
        return [event('CUSTOM', { name: 'progress', value: { toolCallId: part.id, ...part.progress } })]
      case 'call-end': {
        const { id: messageId, ...message } = resultMessage(part.call)
        kept.push({ id: messageId, ...message })
        return [event('TOOL_CALL_RESULT', { messageId, ...message })]
      }
      case 'pause': {
        const interrupts = part.calls.filter(({ needs }) => needs === 'APPROVAL').map(interruptOf)
        const outcome = interrupts.length > 0 && { outcome: { type: 'interrupt', interrupts } }
        return [...endStep(), event('RUN_FINISHED', { threadId, runId, ...outcome })]
      }
      case 'end': {
        if (part.status === 'FAILED') return [event('RUN_ERROR', { message: part.message ?? 'The run failed.' })]
        const type = part.status === 'CANCELLED' ? 'cancelled' : 'success'
        const { usage, stopReason, at: finishedAt } = part
        const result = { usage, stopReason, finishedAt, model }
        return [...endStep(), event('RUN_FINISHED', { threadId, runId, result, outcome: { type } })]
      }
      default:
        return part satisfies never
    }
  }
}

function interruptOf({ id, name, arguments: args, expiresAt }: ToolCallFields): object {
  return {
    id,
    toolCallId: id,
    reason: 'tool_call',
    message: `${name} waits for approval.`,
    ...(expiresAt !== null && { expiresAt }),
    responseSchema: {
      type: 'object',
      properties: { approved: { type: 'boolean' }, reason: { type: 'string' }, arguments: {} },
      required: ['approved'],
    },
    metadata: { name, arguments: args },
  }
}
