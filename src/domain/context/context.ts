import { alongList } from '../../util/along-list.ts'
import type { Agent } from '../agents/agent.ts'
import { argumentsThatRan, notesOf } from '../tools/call-notes.ts'
import { textOf } from '../conversations/content.ts'
import { timeOf } from './local-time.ts'
import { callsOfMessage, type Message } from '../conversations/message.ts'
import { toModelContent } from './model-content.ts'
import type { AssistantPart, ModelMessage, ModelToolReturn } from '../models/model-request.ts'
import type { ToolCall } from '../tools/tool-call.ts'

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
 *
 * The same stored messages give the same objects, so whatever is derived from a model message can be remembered.
 */
export function toModelMessages(
  context: readonly ContextMessage[],
  agent?: Pick<Agent, 'tellTimes' | 'timezone'>,
): ModelMessage[] {
  const timeZone = agent?.tellTimes ? agent.timezone : null
  const inZone = exchanges.get(timeZone) ?? exchangeIn(timeZone)
  exchanges.set(timeZone, inZone)
  const { messages, unit } = inZone(context)
  const last = unit && modelMessageOf(unit, timeZone)
  return last ? [...messages, last] : [...messages]
}

/** Stored messages that belong together, such as those that become one model message. */
export type Unit = readonly [ContextMessage, ...ContextMessage[]]

interface Exchange {
  readonly messages: ModelMessage[]
  /** Becomes the next message. Undefined at the beginning. */
  unit?: Unit
  /** The last stored message, if it is part of an assistant turn that may continue. */
  turn?: Message | undefined
}

/** By the time zone of the times that the model is told. Null if it is told none. */
const exchanges = new Map<string | null, (context: readonly ContextMessage[]) => Exchange>()

function exchangeIn(timeZone: string | null) {
  return alongList(
    (): Exchange => ({ messages: [] }),
    (exchange, entry: ContextMessage) => {
      const { message } = entry
      if (message.type === 'APPROVAL_RESPONSE') return exchange
      const { messages, unit, turn } = exchange
      const isSpoken = hasAssistantParts(entry)
      if (unit && isSpoken && turn?.runId === message.runId && turn.stepIndex === message.stepIndex) {
        exchange.unit = [...unit, entry]
      } else {
        const made = unit && modelMessageOf(unit, timeZone)
        if (made) messages.push(made)
        exchange.unit = [entry]
      }
      exchange.turn = isSpoken ? message : undefined
      return exchange
    },
  )
}

interface MadeMessage {
  readonly unit: Unit
  readonly timeZone: string | null
  readonly made: ModelMessage | undefined
}

/** By the first message of the unit. Most of a context is the same in the next request. */
const madeMessages = new WeakMap<ContextMessage, MadeMessage>()

function modelMessageOf(unit: Unit, timeZone: string | null): ModelMessage | undefined {
  const known = madeMessages.get(unit[0])
  const isSame = known?.timeZone === timeZone && known.unit.length === unit.length
  if (isSame && unit.every((entry, place) => entry === known.unit[place])) return known.made
  const made = makeModelMessage(unit, timeZone)
  madeMessages.set(unit[0], { unit, timeZone, made })
  return made
}

function makeModelMessage(unit: Unit, timeZone: string | null): ModelMessage | undefined {
  const [{ message, callsOfStep }] = unit
  const timed = (time: Date | null) => (timeZone !== null && time ? { at: timeOf(time, timeZone) } : {})
  switch (message.type) {
    case 'USER': {
      const content = toModelContent(message.content.content, message.conversationId)
      return { role: 'user', content, ...timed(message.createdAt) }
    }
    case 'SYSTEM':
      return { role: 'system', text: textOf(message.content.content), ...timed(message.createdAt) }
    case 'SUMMARY':
      return { role: 'system', text: presentSummary(message.content.text) }
    case 'TOOL_RETURN':
      return {
        role: 'tool',
        returns: callsOfStep.map((call) => ({ ...returnOf(call, message), ...timed(call.finishedAt) })),
      }
    default: {
      const parts = assistantParts(unit)
      return parts.length > 0 ? { role: 'assistant', parts } : undefined
    }
  }
}

function returnOf(call: ToolCall, { excluded, conversationId }: Message): ModelToolReturn {
  const failed = excluded || call.result?.status !== 'SUCCESS'
  const notes = excluded ? [] : notesOf(call)
  const output = excluded ? withheld : (call.result?.output ?? '')
  const content = excluded ? undefined : call.result?.content
  return {
    callId: call.providerCallId,
    name: call.name,
    failed,
    output: failed && output.trim() === '' && !content ? silentFailure : output,
    ...(content && { content: toModelContent(content, conversationId) }),
    ...(notes.length > 0 && { notes }),
  }
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

function hasAssistantParts({ message, callsOfStep }: ContextMessage): boolean {
  const { type } = message
  if (type === 'TOOL_CALL' || type === 'APPROVAL_REQUEST') return callsOfMessage(type, callsOfStep).length > 0
  return type === 'REASONING' || type === 'ASSISTANT'
}

/**
 * A step's calls are stored in two messages, waiting calls after the others. Here they have the order in which the
 * model wrote them, which is also that of their returns. Models repeat call ids, so the calls' ordinals are compared.
 */
function assistantParts(unit: Unit): AssistantPart[] {
  const said = unit.flatMap(({ message }): AssistantPart[] =>
    message.type === 'REASONING' || message.type === 'ASSISTANT'
      ? [
          {
            type: message.type === 'REASONING' ? 'reasoning' : 'text',
            text: message.content.text,
            provider: message.content.provider,
          },
        ]
      : [],
  )
  const calls = unit.flatMap(({ message: { type }, callsOfStep }) =>
    type === 'TOOL_CALL' || type === 'APPROVAL_REQUEST' ? callsOfMessage(type, callsOfStep) : [],
  )
  const inOrder = calls.toSorted((one, other) => one.ordinal - other.ordinal)
  return [
    ...said,
    ...inOrder.map((call) => ({
      type: 'call' as const,
      callId: call.providerCallId,
      name: call.name,
      argumentsText: argumentsThatRan(call),
    })),
  ]
}

/** The summary as the model that continues the conversation reads it. */
function presentSummary(text: string): string {
  return `Earlier messages of this conversation are no longer shown. This is a summary of them:\n\n${text}`
}
