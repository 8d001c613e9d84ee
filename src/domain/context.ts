import type { Agent } from './agent.ts'
import { argumentsThatRan, notesOf } from './call-notes.ts'
import { textOf } from './content.ts'
import { timeOf } from './local-time.ts'
import { callsOfMessage, type Message } from './message.ts'
import { toModelContent } from './model-content.ts'
import type { AssistantPart, ModelMessage } from './model-request.ts'
import type { ToolCall } from './tool-call.ts'

/** A stored message with the calls of its step, if it has any. */
export interface ContextMessage {
  readonly message: Message
  readonly callsOfStep: readonly ToolCall[]
}

/**
 * The exchange as a model sees it, made from the messages in the context. The parts of one step become one assistant
 * turn, and all its returns one tool turn. A call shows the arguments that it ran with. Decisions about a call, and who
 * changed its arguments, are told with its return, so the message with the decisions is left out. If the agent is told
 * times, they are the stored ones: what was sent once stays the same, and prompt caches can match it.
 */
export function toModelMessages(
  context: readonly ContextMessage[],
  agent?: Pick<Agent, 'tellTimes' | 'timezone'>,
): ModelMessage[] {
  const timed = (time: Date | null) => (agent?.tellTimes && time ? { at: timeOf(time, agent.timezone) } : {})
  const messages: ModelMessage[] = []
  const places: CallPlaces = new Map()
  let turn: { readonly key: string; readonly parts: AssistantPart[] } | undefined

  for (const { message, callsOfStep } of context) {
    const parts = assistantParts(message, callsOfStep, places)
    if (parts.length > 0) {
      const key = `${message.runId} ${message.stepIndex}`
      if (turn?.key !== key) {
        turn = { key, parts: [] }
        messages.push({ role: 'assistant', parts: turn.parts })
      }
      turn.parts.push(...parts)
      continue
    }
    if (message.type === 'APPROVAL_RESPONSE') continue
    turn = undefined
    if (message.type === 'USER') {
      const content = toModelContent(message.content.content, message.conversationId)
      messages.push({ role: 'user', content, ...timed(message.createdAt) })
    }
    if (message.type === 'SYSTEM')
      messages.push({ role: 'system', text: textOf(message.content.content), ...timed(message.createdAt) })
    if (message.type === 'SUMMARY') messages.push({ role: 'system', text: presentSummary(message.content.text) })
    if (message.type === 'TOOL_RETURN') {
      messages.push({
        role: 'tool',
        returns: callsOfStep.map((call) => {
          const failed = message.excluded || call.result?.status !== 'SUCCESS'
          const notes = message.excluded ? [] : notesOf(call)
          const output = message.excluded ? withheld : (call.result?.output ?? '')
          const content = message.excluded ? undefined : call.result?.content
          return {
            callId: call.providerCallId,
            name: call.name,
            failed,
            output: failed && output.trim() === '' && !content ? silentFailure : output,
            ...(content && { content: toModelContent(content, message.conversationId) }),
            ...(notes.length > 0 && { notes }),
            ...timed(call.finishedAt),
          }
        }),
      })
    }
  }
  return messages.map((message) => inCallOrder(message, places))
}

/** Replaces returns that a provider refused, because every call must have a return. */
const withheld = 'withheld: the provider refused it'
/** Some formats cannot mark a return as an error, and Anthropic refuses an error without text. */
const silentFailure = 'The tool failed without saying why.'

/**
 * Positions of what the model was given and has not answered. These messages leave the context when the run fails, so
 * that they cannot make the next run fail too. Returns are made from their calls' results, so they are withheld
 * instead.
 */
export function unansweredInput(
  context: readonly ContextMessage[],
  runId: string,
  { withReturns }: { readonly withReturns: boolean },
): number[] {
  const positions: number[] = []
  for (const { message } of context.toReversed()) {
    const { type, position } = message
    if (message.runId !== runId) break
    if (type === 'USER' || type === 'SYSTEM') positions.push(position)
    else {
      if (withReturns && type === 'TOOL_RETURN') positions.push(position)
      break
    }
  }
  return positions
}

/** The position of each call among the calls of its step. Models repeat call ids, so ids cannot be used for this. */
type CallPlaces = Map<AssistantPart, number>

function assistantParts(message: Message, callsOfStep: readonly ToolCall[], places: CallPlaces): AssistantPart[] {
  switch (message.type) {
    case 'REASONING':
      return [{ type: 'reasoning', text: message.content.text, provider: message.content.provider }]
    case 'ASSISTANT':
      return [{ type: 'text', text: message.content.text, provider: message.content.provider }]
    case 'TOOL_CALL':
    case 'APPROVAL_REQUEST':
      return callsOfMessage(message.type, callsOfStep).map((call) => {
        const { providerCallId: callId, name } = call
        const part: AssistantPart = { type: 'call', callId, name, argumentsText: argumentsThatRan(call) }
        places.set(part, call.ordinal)
        return part
      })
    default:
      return []
  }
}

/**
 * A step's calls are stored in two messages, waiting calls after the others. This restores the order in which the model
 * wrote them, which is also that of their returns.
 */
function inCallOrder(message: ModelMessage, places: CallPlaces): ModelMessage {
  if (message.role !== 'assistant') return message
  const place = (part: AssistantPart) => places.get(part) ?? -1
  return { ...message, parts: message.parts.toSorted((one, other) => place(one) - place(other)) }
}

/** The summary as the model that continues the conversation reads it. */
function presentSummary(text: string): string {
  return `Earlier messages of this conversation are no longer shown. This is a summary of them:\n\n${text}`
}
