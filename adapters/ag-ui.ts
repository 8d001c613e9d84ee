import type { AGUIEvent, EventType, Message, RunAgentInput } from '@ag-ui/core'

import {
  CancelRun,
  ConversationSnapshot,
  RunSnapshot,
  SendMessage,
  SubmitApprovals,
  type ApprovalDecisionInput,
  type Client,
  type ContentPartInput,
  type ToolCallFields,
} from '../client/index.ts'
import { runParts, type RunPart } from './run-parts.ts'

/**
 * An AG-UI endpoint on top of Holdpoint, for the HTTP server of your application: `HttpAgent` and everything built on
 * it can call this handler. The id of the thread is the id of a conversation. A call that needs approval ends the AG-UI
 * run with an interrupt; resume it with `{ approved: true }`, optionally with edited `arguments`, or `{ approved:
 * false, reason }`. A call of a frontend tool is answered by the tool message of the next run.
 *
 * A client that disconnects does not cancel the run, unless `cancelOnDisconnect` says so. After a lost connection, run
 * the agent again without a new message: the answer is sent from its beginning.
 */
export function createAgUiHandler(
  client: Client,
  { cancelOnDisconnect = false }: AgUiOptions = {},
): (request: Request) => Promise<Response> {
  return async (request) => {
    const input = (await request.json()) as RunAgentInput
    const gone = new AbortController()
    const events = agUiEvents(client, input, { signal: gone.signal, cancelOnAbort: cancelOnDisconnect })
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

export interface AgUiOptions {
  /**
   * Whether a client that closes its connection cancels the run. `abortRun` of an AG-UI client does just that, and so
   * do a closed page and a lost network. Defaults to false.
   */
  readonly cancelOnDisconnect?: boolean
}

interface EventsOptions {
  /** When aborted, no more events follow. */
  readonly signal?: AbortSignal
  /** Whether that cancels the run too. */
  readonly cancelOnAbort?: boolean
}

/** The events of one AG-UI run. */
export async function* agUiEvents(
  client: Client,
  input: RunAgentInput,
  { signal, cancelOnAbort }: EventsOptions = {},
): AsyncGenerator<AGUIEvent> {
  const { threadId, runId } = input
  const ids = { threadId, runId }
  yield event('RUN_STARTED', ids)
  try {
    const { id, after, messages } = await begin(client, input)
    const cancel = (): void => void client.request(CancelRun, { input: { runId: id } }).catch(() => {})
    if (cancelOnAbort) whenAborted(signal, cancel)
    // What the client has of this run already is sent again.
    if (messages.length < input.messages.length) yield event('MESSAGES_SNAPSHOT', { messages })
    const toEvents = createEventMaker({ threadId, runId, messages })
    for await (const part of runParts(client, id, { after, signal })) yield* toEvents(part)
  } catch (error) {
    yield event('RUN_ERROR', { message: error instanceof Error ? error.message : String(error) })
  }
}

function whenAborted(signal: AbortSignal | undefined, act: () => void): void {
  if (signal?.aborted) act()
  else signal?.addEventListener('abort', act)
}

/** The names of the enum are its values. The package itself is not loaded. */
function event(type: `${EventType}`, fields: object): AGUIEvent {
  const made: object = { type, ...fields }
  return made as AGUIEvent
}

interface Place {
  readonly id: string
  readonly after?: string
  /** The client's messages before the events that follow. */
  readonly messages: readonly Message[]
}

/**
 * Starts a run with the new messages, or continues the run that waits for these answers. Without either, the client has
 * lost its connection, and gets the last run again.
 */
async function begin(client: Client, input: RunAgentInput): Promise<Place> {
  const { threadId, messages } = input
  const decisions = decisionsOf(input)
  if (decisions.length > 0) return { ...(await submit(client, threadId, decisions)), messages }
  const sent = messages.slice(messages.findLastIndex(({ role }) => role !== 'user') + 1)
  if (sent.length === 0) {
    const place = messages.findLastIndex(({ role }) => role === 'user')
    return { id: await latestRunId(client, threadId), messages: messages.slice(0, place + 1) }
  }
  const { sendMessage } = await client.request(SendMessage, {
    input: {
      to: { conversationId: threadId },
      messages: sent.map((message) => ({ content: contentOf(message) })),
      // A client that lost its connection before the first event sends the message again.
      idempotencyKey: `${threadId} ${sent.at(-1)!.id}`.slice(-200),
      clientTools: input.tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
    },
  })
  if (sendMessage?.__typename !== 'SendMessageSuccess') throw new Error(sendMessage?.message)
  return { id: sendMessage.run.id, messages }
}

async function latestRunId(client: Client, threadId: string): Promise<string> {
  const { conversation } = await client.request(ConversationSnapshot, { id: threadId, last: 1 })
  if (!conversation?.latestRun) throw new Error(`The conversation ${threadId} has no run yet: send a message.`)
  return conversation.latestRun.id
}

async function submit(
  client: Client,
  threadId: string,
  decisions: ApprovalDecisionInput[],
): Promise<Omit<Place, 'messages'>> {
  const { run } = await client.request(RunSnapshot, { id: await latestRunId(client, threadId) })
  if (!run) throw new Error(`The conversation ${threadId} has no waiting run.`)
  const { submitApprovals } = await client.request(SubmitApprovals, { input: { runId: run.id, decisions } })
  if (submitApprovals?.__typename !== 'SubmitApprovalsSuccess') throw new Error(submitApprovals?.message)
  return { id: run.id, after: run.lastCursor }
}

/** Answers to interrupts, and results of frontend tools after the agent's last answer. */
function decisionsOf({ resume = [], messages }: RunAgentInput): ApprovalDecisionInput[] {
  const answers = resume.map(({ interruptId: toolCallId, status, payload }): ApprovalDecisionInput => {
    const { approved, arguments: edited, reason } = (payload ?? {}) as Answer
    if (status === 'resolved' && approved)
      return { approve: { toolCallId, ...(edited !== undefined && { arguments: edited }) } }
    return { deny: { toolCallId, reason } }
  })
  const lastAnswer = messages.findLastIndex(({ role }) => role !== 'tool')
  const returns = messages.slice(lastAnswer + 1).flatMap((message): ApprovalDecisionInput[] => {
    if (message.role !== 'tool') return []
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
function contentOf(message: Message): ContentPartInput[] {
  if (!Array.isArray(message.content)) return [{ text: textOf(message) }]
  return message.content.flatMap((part): ContentPartInput[] => {
    if (part.type === 'text') return [{ text: part.text }]
    if ((part.type !== 'image' && part.type !== 'document') || part.source.type === 'file') return []
    const { type, value, mimeType } = part.source
    const url = type === 'data' ? `data:${mimeType};base64,${value}` : value
    return [part.type === 'image' ? { imageUrl: url } : { documentUrl: url }]
  })
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
      case 'call': {
        const { id, name, argumentsText } = part.call
        const call = { id, type: 'function' as const, function: { name, arguments: argumentsText } }
        kept.push({ id, role: 'assistant', toolCalls: [call] })
        return close(id)
      }
      case 'call-end': {
        const { id, result } = part.call
        const content = result?.output ?? ''
        kept.push({ id: `${id}-result`, role: 'tool', toolCallId: id, content })
        return [event('TOOL_CALL_RESULT', { messageId: `${id}-result`, toolCallId: id, role: 'tool', content })]
      }
      case 'pause': {
        const interrupts = part.calls.filter(({ needs }) => needs === 'APPROVAL').map(interruptOf)
        const outcome = interrupts.length > 0 && { outcome: { type: 'interrupt', interrupts } }
        return [...endStep(), event('RUN_FINISHED', { threadId, runId, ...outcome })]
      }
      case 'end': {
        if (part.status === 'FAILED') return [event('RUN_ERROR', { message: part.message ?? 'The run failed.' })]
        const type = part.status === 'CANCELLED' ? 'cancelled' : 'success'
        return [...endStep(), event('RUN_FINISHED', { threadId, runId, outcome: { type } })]
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
