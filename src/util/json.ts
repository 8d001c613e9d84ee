import { createHash } from 'node:crypto'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
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
    const given = Object.entries(value)
    const stored = given.map(([key, entry]): [string, Json] => [storableText(key), storableJson(entry, depth + 1)])
    const isSame = stored.every(([key, entry], index) => key === given[index]![0] && entry === given[index]![1])
    // Building an object of many keys takes ten times as long as reading it.
    return isSame ? value : (Object.fromEntries(stored) as unknown as T)
  }
  return value
}

/** The value of a JSON text, as it is stored. Undefined for text that is not JSON, or that is nested too deeply. */
export function parseStorable(text: string): Json | undefined {
  try {
    return storableJson(JSON.parse(text) as Json)
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
      .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key]!)}`)
    return `{${entries.join(',')}}`
  }
  return JSON.stringify(value)
}

/** A hash that is equal for equal values, regardless of key order. */
export function jsonHash(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('base64url')
}
