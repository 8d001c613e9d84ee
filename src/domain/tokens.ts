import { createRequire } from 'node:module'

import type * as TokenizerPackage from 'gpt-tokenizer/encoding/o200k_base'

import { alongList } from '../util/along-list.ts'
import { cutText } from '../util/json.ts'
import { weighMedia, type ModelContent } from './context/model-content.ts'
import type { AssistantPart, ModelMessage, ModelRequest, ModelTool } from './models/model-request.ts'

/**
 * Counts tokens here instead of asking a provider. Every model counts slightly differently, so this is an estimate:
 * callers leave room for error, and a provider's "too long" error takes precedence.
 */

/** Long texts are counted in pieces. */
const pieceLength = 400
/** The counter takes quadratic time in the length of a word, and some scripts have no spaces, so long words are cut. */
const longWord = /\S{64}/
const parts = /\s*\S{1,64}|\s+/g
/** A text with more pieces is estimated from this many, evenly spread: counting a megabyte would block for seconds. */
const countedPieces = 125
/** How many characters of a request are counted. In a longer request, only a share of each text is counted. */
const countedCharacters = 200_000
/** Special tokens such as <|endoftext|> are counted as ordinary text. */
const plainText = { disallowedSpecial: new Set<string>() }

type Tokenizer = typeof TokenizerPackage

let tokenizer: Tokenizer | undefined

/**
 * The tables are loaded when they are first needed: they take 70 MB, and most contexts are too short to need counting.
 */
function loadTokenizer(): Tokenizer {
  const loaded = createRequire(import.meta.url)('gpt-tokenizer/encoding/o200k_base') as Tokenizer
  // It would cache a hundred thousand words, each of which keeps the text that it was cut from in memory.
  loaded.setMergeCacheSize(0)
  return loaded
}

function countPiece(text: string): number {
  tokenizer ??= loadTokenizer()
  if (!longWord.test(text)) return tokenizer.countTokens(text, plainText)
  const { countTokens } = tokenizer
  return sum(text.match(parts)!, (part) => countTokens(part, plainText))
}

/** `share` is how much of the text to count, 0 to 1; the rest is estimated. */
export function countTokens(text: string, share = 1): number {
  const pieces = Math.max(1, Math.floor(text.length / (pieceLength * countedPieces)), Math.round(1 / share))
  const step = pieceLength * pieces
  let count = 0
  let characters = 0
  for (let start = 0; start < text.length; start += step) {
    const piece = text.slice(start, start + pieceLength)
    count += countPiece(piece)
    characters += piece.length
  }
  return characters === text.length ? count : Math.round((count / characters) * text.length)
}

/** The beginning of a text, at most `tokens` tokens long. */
export function cutToTokens(text: string, tokens: number): string {
  return cutText(text, lengthWithin(text, tokens))
}

/** The end of a text, at most `tokens` tokens long. */
export function cutFromTokens(text: string, tokens: number): string {
  let start = text.length
  let left = tokens
  while (start > 0) {
    const piece = text.slice(Math.max(0, start - pieceLength), start)
    left -= countPiece(piece)
    if (left < 0) break
    start -= piece.length
  }
  return text.slice(start).toWellFormed()
}

function lengthWithin(text: string, tokens: number): number {
  let left = tokens
  for (let start = 0; start < text.length; start += pieceLength) {
    const piece = text.slice(start, start + pieceLength)
    const weight = countPiece(piece)
    // The piece that does not fit is cut in proportion, which is off by a few tokens per four hundred characters.
    if (weight > left) return start + Math.floor((piece.length * Math.max(0, left - 1)) / weight)
    left -= weight
  }
  return text.length
}

export type CountTokens = (text: string, share?: number) => number

/** Remembers the tokens of recent texts: a context is counted before every step, and most of it stays the same. */
export function createTokenCounter({ maxCharacters = 4_000_000 } = {}): CountTokens {
  const counted = new Map<string, number>()
  let characters = 0
  return (text, share) => {
    const known = counted.get(text)
    const count = known ?? countTokens(text, share)
    // Moves the text to the end of the map, so that the least recently used text is evicted first.
    if (known !== undefined) counted.delete(text)
    else characters += text.length
    counted.set(text, count)
    for (const oldest of counted.keys()) {
      if (characters <= maxCharacters) break
      counted.delete(oldest)
      characters -= oldest.length
    }
    return count
  }
}

/** Tokens that a message, a call or a tool costs in addition to its text. */
const frame = 4

export interface RequestWeight {
  readonly systemPrompt: number
  readonly tools: number
  readonly messages: number
  readonly total: number
}

export function weighRequest(request: ModelRequest, count: CountTokens = countTokens): RequestWeight {
  const { total: characters } = sumRequest(request, (text) => text.length)
  const share = Math.min(1, countedCharacters / characters)
  return sumRequest(request, (text) => count(text, share))
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

function sum<Item>(items: readonly Item[], weigh: (item: Item) => number): number {
  return items.reduce((total, item) => total + weigh(item), 0)
}
