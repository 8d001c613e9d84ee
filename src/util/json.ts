import { createHash } from 'node:crypto'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A value that should be a text, and is empty otherwise. */
export function textIn(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}

/** `JSON.parse`, whose result is JSON. */
export function parseJson(text: string): Json {
  return JSON.parse(text) as Json
}

/** `Object.keys` of an object that has no other keys than its type says. */
export function keysOf<Of extends object>(object: Of): (keyof Of)[] {
  return Object.keys(object) as (keyof Of)[]
}

/**
 * Makes text storable in Postgres: text and jsonb refuse NUL, jsonb refuses a lone surrogate, and models and clients
 * send both. Returns the same string if there is nothing to change.
 */
export function storableText(text: string): string {
  return (text.includes('\u0000') ? text.replaceAll('\u0000', '') : text).toWellFormed()
}

/** The beginning of a text. If it would end with half of a surrogate pair, which cannot be stored, that is replaced. */
export function cutText(text: string, length: number): string {
  return text.slice(0, length).toWellFormed()
}

/**
 * JSON that Postgres accepts whatever is in its texts. They should be storable already: this is for one that is not,
 * because a run whose result cannot be stored cannot continue.
 */
export function storableJsonText(value: object): string {
  const text = JSON.stringify(value)
  if (!/\\u(?:0000|d[89a-f])/.test(text)) return text
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner === 'string') return storableText(inner)
    if (!isJsonObject(inner)) return inner
    return Object.fromEntries(Object.entries(inner).map(([key, entry]) => [storableText(key), entry]))
  })
}

/** Deeper than any real value, and far below the limit of Postgres. */
const deepest = 500

/**
 * Applies `storableText` to every string in a value, keys included. The same value if nothing changes. Throws if the value is nested too deeply for jsonb.
 */
export function storableJson<T extends Json>(value: T, depth = 0): T {
  if (depth > deepest) throw new RangeError(`The value is nested more than ${deepest} levels deep.`)
  if (typeof value === 'string') return storableText(value) as T
  // JSON.parse reads 1e999 as Infinity, which JSON cannot write.
  if (typeof value === 'number') return (Number.isFinite(value) ? value : null) as T
  if (Array.isArray(value)) {
    const list = value.map((entry) => storableJson(entry, depth + 1))
    return list.every((entry, index) => entry === value[index]) ? value : (list as unknown as T)
  }
  if (isJsonObject(value)) {
    const entries = Object.entries(value).map(([key, entry]) => {
      return { key, entry, stored: [storableText(key), storableJson(entry, depth + 1)] as const }
    })
    const isSame = entries.every(({ key, entry, stored }) => key === stored[0] && entry === stored[1])
    // Building an object of many keys takes ten times as long as reading it.
    return isSame ? value : (Object.fromEntries(entries.map(({ stored }) => stored)) as T & JsonObject)
  }
  return value
}

/** The value of a JSON text, as it is stored. Undefined for text that is not JSON, or that is nested too deeply. */
export function parseStorable(text: string): Json | undefined {
  try {
    return storableJson(parseJson(text))
  } catch {
    return undefined
  }
}

/** Whether two values are equal, regardless of key order. */
export function sameJson(one: Json | undefined, other: Json | undefined): boolean {
  return canonicalJson(one ?? null) === canonicalJson(other ?? null)
}

/**
 * JSON with sorted keys, so that equal values give equal text. As in `JSON.stringify`, dates are texts and a property
 * that is undefined does not exist.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (isJsonObject(value) && !(value instanceof Date)) {
    const entries = Object.keys(value)
      .filter((key) => value[key] !== undefined)
      .toSorted()
      .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`)
    return `{${entries.join(',')}}`
  }
  return JSON.stringify(value)
}

/** A hash that is equal for equal values, regardless of key order. */
export function jsonHash(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('base64url')
}
