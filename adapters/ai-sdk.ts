import type { ChatTransport, UIMessage, UIMessageChunk } from 'ai'

import {
  CancelRun,
  ConversationSnapshot,
  isRunOver,
  Regenerate,
  RunSnapshot,
  SendMessage,
  SubmitApprovals,
  type ApprovalDecisionInput,
  type Client,
  type ClientToolInput,
  type ContentPartInput,
} from '../client/index.ts'
import { runParts, type RunPart } from './run-parts.ts'

export interface ChatTransportOptions {
  /** Tools that the page runs itself. A call of one waits for `addToolOutput`. */
  readonly clientTools?: readonly ClientToolInput[]
}

/**
 * A transport for `useChat` of the AI SDK. The id of the chat is the id of a conversation, and the id of an answer is
 * the id of its run. Tool calls are dynamic tool parts. A call that waits for approval is answered with
 * `addToolApprovalResponse`, a call of a client tool with `addToolOutput`; both continue the run.
 *
 * `stop()` cancels the run. A page that is closed or reloaded does not: `useChat({ resume: true })` shows the rest.
 */
export function createChatTransport<Message extends UIMessage = UIMessage>(
  client: Client,
  { clientTools }: ChatTransportOptions = {},
): ChatTransport<Message> {
  return {
    resumeStreamIsReplay: true,
    async sendMessages({ trigger, chatId, messageId, messages, abortSignal }) {
      const last = messages.at(-1)
      if (trigger === 'regenerate-message') return toStream(client, await regenerate(client, messageId), abortSignal)
      if (last?.role === 'assistant') return toStream(client, await submit(client, last), abortSignal)
      const content = last?.parts.flatMap(contentOf) ?? []
      const { sendMessage } = await client.request(SendMessage, {
        input: { to: { conversationId: chatId }, messages: [{ content }], clientTools, idempotencyKey: last?.id },
      })
      if (sendMessage?.__typename !== 'SendMessageSuccess') throw refused(sendMessage)
      return toStream(client, { runId: sendMessage.run.id }, abortSignal)
    },
    async reconnectToStream({ chatId, abortSignal }) {
      const { conversation } = await client.request(ConversationSnapshot, { id: chatId, last: 1 })
      const run = conversation?.latestRun
      return run && !isRunOver(run.status) ? toStream(client, { runId: run.id }, abortSignal) : null
    },
  }
}

interface Place {
  readonly runId: string
  readonly after?: string
  /** Whether nothing follows for now: the run waits for someone else. */
  readonly isWaiting?: boolean
}

/** The text and files of a message. Other parts are the application's own. */
function contentOf(part: UIMessage['parts'][number]): ContentPartInput[] {
  if (part.type === 'text') return part.text === '' ? [] : [{ text: part.text }]
  if (part.type !== 'file') return []
  return [part.mediaType.startsWith('image/') ? { imageUrl: part.url } : { documentUrl: part.url }]
}

async function regenerate(client: Client, runId: string | undefined): Promise<Place> {
  if (runId === undefined) throw new Error('There is no answer to regenerate.')
  const { regenerate: result } = await client.request(Regenerate, { input: { runId } })
  if (result?.__typename !== 'RegenerateSuccess') throw refused(result)
  return { runId: result.run.id }
}

/** Sends a person's decisions, and results of client tools, for the calls of the answer. */
async function submit(client: Client, answer: UIMessage): Promise<Place> {
  const { run } = await client.request(RunSnapshot, { id: answer.id })
  if (!run) throw new Error(`There is no run ${answer.id}.`)
  const decisions = answer.parts.flatMap((part) => ('toolCallId' in part ? decisionOf(part) : []))
  const input = { runId: run.id, decisions }
  const { submitApprovals } = await client.request(SubmitApprovals, { input })
  if (submitApprovals?.__typename !== 'SubmitApprovalsSuccess') throw refused(submitApprovals)
  return { runId: run.id, after: run.lastCursor, isWaiting: submitApprovals.run.status === 'AWAITING_APPROVAL' }
}

type ToolPart = Extract<UIMessage['parts'][number], { readonly toolCallId: string }>

/** Decisions that are already stored change nothing, so those of earlier steps may be sent again. */
function decisionOf(part: ToolPart): ApprovalDecisionInput[] {
  const { toolCallId } = part
  if (part.state === 'approval-responded') {
    const { approved, reason } = part.approval
    return [approved ? { approve: { toolCallId } } : { deny: { toolCallId, reason } }]
  }
  // Results that came from the server are marked.
  if (part.providerExecuted) return []
  if (part.state === 'output-available')
    return [{ toolReturn: { toolCallId, status: 'SUCCESS', output: textOf(part.output) } }]
  if (part.state === 'output-error') return [{ toolReturn: { toolCallId, status: 'ERROR', output: part.errorText } }]
  return []
}

function textOf(output: unknown): string {
  return typeof output === 'string' ? output : JSON.stringify(output)
}

function refused(result: { readonly message?: string } | null | undefined): Error {
  return new Error(result?.message ?? 'The server sent no answer.')
}

function toStream(
  client: Client,
  { runId, after, isWaiting = false }: Place,
  abortSignal: AbortSignal | undefined,
): ReadableStream<UIMessageChunk> {
  // Until the last decision is sent, nothing would arrive, and the chat could not send it.
  if (isWaiting) {
    return new ReadableStream({
      start(controller) {
        controller.enqueue({ type: 'finish', finishReason: 'tool-calls' })
        controller.close()
      },
    })
  }
  const gone = new AbortController()
  const stop = (): void => void client.request(CancelRun, { input: { runId } }).catch(() => {})
  abortSignal?.addEventListener('abort', stop)
  const parts = runParts(client, runId, { after, signal: gone.signal })
  const toChunks = createChunkMaker()
  return new ReadableStream<UIMessageChunk>({
    start: (controller) => controller.enqueue({ type: 'start', messageId: runId }),
    async pull(controller) {
      const { done, value } = await parts.next()
      for (const chunk of done ? [] : toChunks(value)) controller.enqueue(chunk)
      if (!done) return
      abortSignal?.removeEventListener('abort', stop)
      controller.close()
    },
    async cancel() {
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
      return [{ type: 'finish-step' }]
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
      const { id, name, arguments: input, argumentsText, needs } = part.call
      const called = { toolCallId: id, toolName: name, input: input ?? argumentsText, dynamic: true }
      const request = { type: 'tool-approval-request', approvalId: id, toolCallId: id } as const
      return [{ type: 'tool-input-available', ...called }, ...(needs === 'APPROVAL' ? [request] : [])]
    }
    case 'call-end': {
      const { id, status, result } = part.call
      const about = { toolCallId: id, dynamic: true, providerExecuted: true }
      if (status === 'DENIED') return [{ type: 'tool-output-denied', toolCallId: id }]
      if (status === 'SUCCEEDED') return [{ type: 'tool-output-available', ...about, output: result?.output }]
      return [{ type: 'tool-output-error', ...about, errorText: result?.output ?? 'The call was cancelled.' }]
    }
    case 'pause':
      return [{ type: 'finish', finishReason: 'tool-calls' }]
    case 'end':
      if (part.status === 'FAILED') return [{ type: 'error', errorText: part.message ?? 'The run failed.' }]
      return [part.status === 'CANCELLED' ? { type: 'abort' } : { type: 'finish', finishReason: 'stop' }]
    default:
      return part satisfies never
  }
}
