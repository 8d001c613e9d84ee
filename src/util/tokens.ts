import { createRequire } from 'node:module'

import { LRUCache } from 'lru-cache'
import type * as TokenizerPackage from 'gpt-tokenizer/encoding/o200k_base'

import { cutText } from './json.ts'

/**
 * Counts tokens here instead of asking a provider. Every model counts slightly differently, so this is an estimate:
 * callers leave room for error, and a provider's "too long" error takes precedence.
 */

/** Long texts are counted in pieces. */
const pieceLength = 200
/** The counter takes quadratic time in the length of a word, and some scripts have no spaces, so long words are cut. */
const longWord = /\S{64}/
const parts = /\s*\S{1,64}|\s+/g
/** A text with more pieces is estimated from this many, evenly spread: counting a megabyte would block for a second. */
const countedPieces = 150
/** The texts whose counts are remembered have at most this length together. */
const rememberedCharacters = 4_000_000
/** Special tokens such as <|endoftext|> are counted as ordinary text. */
const plainText = { disallowedSpecial: new Set<string>() }

type Tokenizer = typeof TokenizerPackage

let tokenizer: Tokenizer | undefined

/**
 * The tables are loaded when they are first needed: they take 70 MB, and most contexts are too short to need counting.
 */
function loadTokenizer(): Tokenizer {
  const loaded: Tokenizer = createRequire(import.meta.url)('gpt-tokenizer/encoding/o200k_base')
  // It would cache a hundred thousand words, each of which keeps the text that it was cut from in memory.
  loaded.setMergeCacheSize(0)
  return loaded
}

function countPiece(text: string): number {
  tokenizer ??= loadTokenizer()
  if (!longWord.test(text)) return tokenizer.countTokens(text, plainText)
  const { countTokens } = tokenizer
  return sum(text.match(parts) ?? [], (part) => countTokens(part, plainText))
}

/** One piece of how many is counted. */
function piecesPerCount(text: string, share: number): number {
  if (text.length <= pieceLength) return 1
  return Math.max(1, Math.floor(text.length / (pieceLength * countedPieces)), Math.round(1 / share))
}

/** `share` is how much of the text to count, 0 to 1; the rest is estimated. */
export function countTokens(text: string, share = 1): number {
  const step = pieceLength * piecesPerCount(text, share)
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
    // The piece that does not fit is cut in proportion, which is off by a few tokens per two hundred characters.
    if (weight > left) return start + Math.floor((piece.length * Math.max(0, left - 1)) / weight)
    left -= weight
  }
  return text.length
}

export type CountTokens = (text: string, share?: number) => number

/**
 * Remembers the tokens of recent texts: a context is counted before every step, and most of it stays the same. An
 * estimate from fewer pieces than asked for is counted again.
 */
export function createTokenCounter(): CountTokens {
  const counted = new LRUCache<string, { readonly tokens: number; readonly pieces: number }>({
    maxSize: rememberedCharacters,
    sizeCalculation: (_count, text) => text.length,
  })
  return (text, share = 1) => {
    if (text === '') return 0
    const known = counted.get(text)
    const pieces = piecesPerCount(text, share)
    if (known && known.pieces <= pieces) return known.tokens
    const tokens = countTokens(text, share)
    counted.set(text, { tokens, pieces })
    return tokens
  }
}

export function sum<Item>(items: readonly Item[], weigh: (item: Item) => number): number {
  return items.reduce((total, item) => total + weigh(item), 0)
}
