import type { DynamicToolUIPart, FileUIPart, UIMessage } from 'ai'

import type { ContentFields, MessageFields, ToolCallFields } from '../client/documents.ts'
import type { TranscriptEntry, TranscriptState } from '../client/transcript.ts'

/** What the messages of a conversation have as `metadata`. */
export interface ChatMetadata {
  /** When the message or run was made. */
  readonly createdAt?: string
  /** Of an answer that has ended. */
  readonly finishedAt?: string | null
  readonly stopReason?: string | null
  /** The model of the last step. Only in answers that were streamed to this page. */
  readonly model?: string
  /** Tokens, steps and costs of the run. */
  readonly usage?: object
  /** The name of whoever sent a message. */
  readonly sentBy?: string
}

type Part = UIMessage['parts'][number]

/**
 * A conversation as `useChat` shows it: an answer has the id of its run, and a message from a page the id that it had
 * there. A streamed answer has the same parts.
 */
export function toUiMessages({ entries, runs, queue }: TranscriptState): UIMessage[] {
  const messages: UIMessage[] = []
  const started = new Set(runs.filter(({ status }) => status !== 'QUEUED').map(({ id }) => id))
  for (const entry of entries) {
    const message = entry.kind === 'message' ? entry.message : undefined
    if (message?.__typename === 'SummaryMessage') continue
    if (message?.__typename === 'UserMessage' || message?.__typename === 'SystemMessage') messages.push(ofSent(message))
    else addTo(answerOf(messages, entry), entry)
  }
  for (const answer of messages) {
    const run = runs.find(({ id }) => id === answer.id)
    if (run?.usage)
      answer.metadata = { ...(answer.metadata as ChatMetadata), usage: run.usage, stopReason: run.stopReason }
  }
  const waiting = queue.filter(({ id }) => !started.has(id))
  for (const { id, input, createdAt } of waiting)
    for (const [index, { clientId, text, role }] of input.entries())
      messages.push({
        id: clientId ?? `${id}-${index}`,
        role: role === 'SYSTEM' ? 'system' : 'user',
        metadata: { createdAt },
        parts: [{ type: 'text', text }],
      })
  return messages
}

type UserMessage = Extract<MessageFields, { readonly __typename: 'UserMessage' }>
type TextMessage = Extract<MessageFields, { readonly text: string }>

function ofSent(message: TextMessage): UIMessage {
  const { id, clientId, createdAt } = message
  const { sentBy, content } = message as Partial<UserMessage>
  const parts = content?.flatMap((part): Part[] =>
    part.kind === 'TEXT' ? [{ type: 'text', text: part.text ?? '' }] : filesOf([part]),
  )
  return {
    id: clientId ?? id,
    role: message.__typename === 'UserMessage' ? 'user' : 'system',
    metadata: { createdAt, ...(sentBy && { sentBy: sentBy.name }) },
    parts: parts ?? [{ type: 'text', text: message.text }],
  }
}

/** Entries of a run follow each other. */
function answerOf(messages: UIMessage[], entry: TranscriptEntry): UIMessage {
  const last = messages.at(-1)
  const id = entry.runId ?? entry.id
  if (last?.id === id) return last
  const createdAt =
    entry.kind === 'message' ? entry.message.createdAt : entry.kind === 'call' ? entry.call.createdAt : undefined
  const answer: UIMessage = { id, role: 'assistant', parts: [], ...(createdAt && { metadata: { createdAt } }) }
  messages.push(answer)
  return answer
}

function addTo({ parts }: UIMessage, entry: TranscriptEntry): void {
  const part = partOf(entry)
  // A step ends with its calls.
  if (parts.length === 0 || (part.type !== 'dynamic-tool' && parts.at(-1)!.type === 'dynamic-tool'))
    parts.push({ type: 'step-start' })
  parts.push(part)
  if (entry.kind === 'call' && entry.progress) parts.push({ type: 'data-progress', id: entry.id, data: entry.progress })
}

function partOf(entry: TranscriptEntry): Part {
  if (entry.kind === 'call') return callPart(entry.call)
  if (entry.kind === 'message') {
    const type = entry.message.__typename === 'ReasoningMessage' ? 'reasoning' : 'text'
    return { type, text: entry.message.text, state: 'done' }
  }
  if (entry.role === 'TOOL_CALL')
    return {
      type: 'dynamic-tool',
      toolName: entry.name,
      toolCallId: entry.id,
      state: 'input-streaming',
      input: undefined,
    }
  return { type: entry.role === 'REASONING' ? 'reasoning' : 'text', text: entry.text, state: 'streaming' }
}

function callPart(call: ToolCallFields): DynamicToolUIPart {
  const { id, name, status, needs, decision } = call
  const shared = { type: 'dynamic-tool', toolName: name, toolCallId: id, input: inputOf(call) } as const
  const asked = needs === 'APPROVAL'
  const reason = decision?.reason ? { reason: decision.reason } : {}
  const approved = { ...(asked && decision && { approval: { id, approved: true as const, ...reason } }), ...byOf(call) }
  switch (status) {
    case 'SUCCEEDED':
      return { ...shared, ...approved, state: 'output-available', output: outputOf(call), providerExecuted: true }
    case 'DENIED':
      return { ...shared, ...byOf(call), state: 'output-denied', approval: { id, approved: false, ...reason } }
    case 'FAILED':
    case 'CANCELLED':
      return { ...shared, ...approved, state: 'output-error', errorText: errorOf(call), providerExecuted: true }
    case 'PENDING':
      if (asked) return { ...shared, state: 'approval-requested', approval: { id } }
      return { ...shared, state: 'input-available' }
    default:
      if (approved.approval) return { ...shared, ...approved, state: 'approval-responded', approval: approved.approval }
      return { ...shared, state: 'input-available', providerExecuted: true }
  }
}

/** Who decided. */
export function byOf({ decision }: ToolCallFields) {
  return decision?.decidedBy ? { callProviderMetadata: { holdpoint: { decidedBy: decision.decidedBy } } } : {}
}

export function inputOf({ editedArguments, arguments: input, argumentsText }: ToolCallFields): unknown {
  return editedArguments ?? input ?? argumentsText
}

/** Text, JSON, or if there are files the parts of the result: texts and files as in messages. */
export function outputOf({ result }: ToolCallFields): unknown {
  if (!result) return undefined
  const files = filesOf(result.content)
  if (files.length > 0) return [...(result.output === '' ? [] : [{ type: 'text', text: result.output }]), ...files]
  return typeof result.json === 'object' && result.json !== null ? result.json : result.output
}

export function errorOf({ result }: ToolCallFields): string {
  return result?.output || 'The call was cancelled.'
}

function filesOf(content: readonly Omit<ContentFields, 'text'>[]): FileUIPart[] {
  return content.flatMap(({ imageUrl, documentUrl, file }): FileUIPart[] => {
    const url = imageUrl ?? documentUrl
    if (!url) return []
    const given = /^data:([^;,]+)/.exec(url)?.[1]
    const mediaType = file?.mediaType ?? given ?? (imageUrl ? 'image/*' : 'application/octet-stream')
    return [{ type: 'file', url, mediaType, ...(file?.name && { filename: file.name }) }]
  })
}
