import { cutText } from '../../util/json.ts'
import { changedArguments } from '../tools/call-notes.ts'
import type { ContextMessage } from './context.ts'
import { callsOfMessage } from '../conversations/message.ts'
import { contentText } from './model-content.ts'
import { cutFromTokens, cutToTokens, countTokens } from '../../util/tokens.ts'
import type { ToolCall } from '../tools/tool-call.ts'

/**
 * A conversation for a model that was not part of it. Each entry names the speaker, and every line is quoted, so that
 * no message can pretend to be another speaker or address the reader.
 */
function transcriptOf(
  messages: readonly ContextMessage[],
  options: { readonly returnCharLimit?: number } = {},
): string {
  const limit = options.returnCharLimit ?? Number.POSITIVE_INFINITY
  return messages.flatMap((entry) => entriesOf(entry, limit)).join('\n\n')
}

function entriesOf({ message, callsOfStep }: ContextMessage, returnCharLimit: number): string[] {
  const calls = callsOfMessage(message.type, callsOfStep)
  switch (message.type) {
    case 'USER':
      return [entry('user', contentText(message.content.content))]
    case 'SYSTEM':
      return [entry('system', contentText(message.content.content))]
    case 'ASSISTANT':
      return [entry(message.content.interrupted ? 'assistant (cut short)' : 'assistant', message.content.text)]
    case 'SUMMARY':
      return [entry('summary of what came before', message.content.text)]
    case 'TOOL_CALL':
      return calls.flatMap((call) => callEntries('calls', call))
    case 'APPROVAL_REQUEST':
      return calls.flatMap((call) => callEntries('asks to call', call))
    case 'APPROVAL_RESPONSE':
      return calls.map((call) => entry(`decision about ${call.name}`, decisionOf(call)))
    case 'TOOL_RETURN':
      return calls.map((call) => entry(returnLabel(call), clamp(returnedText(call), returnCharLimit)))
    // Reasoning is left out.
    case 'REASONING':
      return []
    default:
      return message satisfies never
  }
}

function entry(label: string, text: string): string {
  return `${label}:\n${text.replaceAll(/^/gm, '> ')}`
}

function returnedText(call: ToolCall): string {
  return call.result?.content ? contentText(call.result.content) : (call.result?.output ?? '')
}

/** What the assistant wrote, and what the call ran with if that differs. */
function callEntries(verb: string, call: ToolCall): string[] {
  const changed = changedArguments(call)
  return [
    entry(`assistant ${verb} ${call.name}`, call.argumentsText),
    ...(changed ? [entry(`${changed.by} changed the arguments of ${call.name}, which ran with`, changed.ran)] : []),
  ]
}

function decisionOf({ decision }: ToolCall): string {
  const reason = decision?.reason ? `: ${decision.reason}` : ''
  switch (decision?.kind) {
    case 'APPROVED':
      return `approved${reason}`
    case 'DENIED':
      return `denied${reason}`
    case 'CLIENT_RETURN':
      return 'the client ran it itself'
    default:
      return 'none'
  }
}

function returnLabel(call: ToolCall): string {
  return `${call.name} ${call.result?.status === 'SUCCESS' ? 'returned' : 'failed'}`
}

function clamp(text: string, limit: number): string {
  return text.length <= limit ? text : `${cutText(text, limit)}\n[${text.length - limit} characters more]`
}

const clampedReturn = 1_000

/**
 * A transcript of at most `tokens` tokens. Tool returns are shortened first. If that is not enough, the beginning and
 * the end are kept: they say what was wanted and what the current state is.
 */
export function transcriptWithin(messages: readonly ContextMessage[], tokens: number): string {
  const whole = transcriptOf(messages)
  if (countTokens(whole) <= tokens) return whole
  const short = transcriptOf(messages, { returnCharLimit: clampedReturn })
  if (countTokens(short) <= tokens) return short
  const half = Math.floor((tokens - 20) / 2)
  return `${cutToTokens(short, half)}\n\n[the middle is left out]\n\n> ${cutFromTokens(short, half)}`
}
