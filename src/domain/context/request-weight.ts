import { alongList } from '../../util/along-list.ts'
import { countTokens, sum, type CountTokens } from '../../util/tokens.ts'
import { weighMedia, type ModelContent } from './model-content.ts'
import type { AssistantPart, ModelMessage, ModelRequest, ModelTool } from '../models/model-request.ts'

/** How many characters of a request are counted. In a longer request, only a share of each text is counted. */
const countedCharacters = 60_000
/** Tokens that a message, a call or a tool costs in addition to its text. */
const frame = 4

export interface RequestWeight {
  readonly systemPrompt: number
  readonly tools: number
  readonly messages: number
  readonly total: number
}

export function weighRequest(request: ModelRequest, count: CountTokens = countTokens): RequestWeight {
  const { total: characters } = sumRequest(request, lengthOf)
  return sumRequest(request, countShare(characters, count))
}

/** Counts only a share of each text if all of them have more than this many characters. */
function countShare(characters: number, count: CountTokens): CountTokens {
  const share = Math.min(1, countedCharacters / characters)
  return (text) => count(text, share)
}

/**
 * An upper limit of the request's tokens, which takes no counting: a text never has more tokens than bytes. Media
 * counts as always.
 */
export function mostTokensOf({ systemPrompt, tools, messages }: ModelRequest): number {
  return byteLength(systemPrompt) + weighTools(tools, byteLength) + mostTokensOfMessages(messages)
}

const mostTokensOfMessages = alongList(
  () => 0,
  (total, message: ModelMessage) => total + weighMessages([message], byteLength),
)

function lengthOf(text: string): number {
  return text.length
}

function byteLength(text: string): number {
  return Buffer.byteLength(text)
}

function sumRequest(request: ModelRequest, count: (text: string) => number): RequestWeight {
  const systemPrompt = count(request.systemPrompt)
  const tools = weighTools(request.tools, count)
  const messages = weighMessages(request.messages, count)
  return { systemPrompt, tools, messages, total: systemPrompt + tools + messages }
}

export function weighTools(tools: readonly ModelTool[], count: CountTokens = countTokens): number {
  return sum(tools, ({ name, description, parameters }) => {
    return frame + count(name) + count(description) + count(JSON.stringify(parameters))
  })
}

export function weighMessages(messages: readonly ModelMessage[], count: CountTokens = countTokens): number {
  return sum(messages, (message) => frame + weighContent(message, count) + weighTime(message, count))
}

/** The weights of the units of one context. */
export function weighUnits(units: readonly (readonly ModelMessage[])[], count: CountTokens): number[] {
  const characters = sum(units, (messages) => weighMessages(messages, lengthOf))
  return units.map((messages) => weighMessages(messages, countShare(characters, count)))
}

function weighContent(message: ModelMessage, count: CountTokens): number {
  switch (message.role) {
    case 'user':
      return weighParts(message.content, count)
    case 'system':
      return count(message.text)
    case 'assistant':
      return sum(message.parts, (part) => weighPart(part, count))
    case 'tool':
      return sum(message.returns, ({ output, content, notes = [] }) => {
        return frame + (content ? weighParts(content, count) : count(output)) + sum(notes, count)
      })
    default:
      return message satisfies never
  }
}

function weighTime(message: ModelMessage, count: CountTokens): number {
  if (message.role === 'tool') return sum(message.returns, ({ at = '' }) => count(at))
  return 'at' in message ? count(message.at ?? '') : 0
}

function weighParts(content: readonly ModelContent[], count: CountTokens): number {
  return sum(content, (part) => ('text' in part ? count(part.text) : weighMedia(part)))
}

function weighPart(part: AssistantPart, count: CountTokens): number {
  return part.type === 'call' ? frame + count(part.name) + count(part.argumentsText) : count(part.text)
}
