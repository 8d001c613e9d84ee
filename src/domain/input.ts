import { faultOfSchema } from '../util/json-schema.ts'
import { isJsonObject, keysOf, storableText, type Json, type JsonObject } from '../util/json.ts'
import { badUserInput } from './errors.ts'
import { encodeId, type UuidKind } from './ids.ts'

/**
 * Checks of single values from a client. Each returns the value to store, or throws BAD_USER_INPUT, which names the
 * field by its path and says what is wrong with the value and what is expected.
 */

/** A field of an input. Absent and null mean different things. */
export type Given<T> = T | null | undefined

/** An input for settings: any of them, or null for the default. */
export type GivenFields<Settings> = { readonly [Key in keyof Settings]?: Given<NonNullable<Settings[Key]>> }

/**
 * Settings after a change. An omitted field stays unchanged, and null restores the default. A field without a default
 * must not be null. Any other value is checked, in the order of `checks`, which return what to store.
 */
export function mergeFields<Settings extends object, Input extends object, Key extends keyof Input & keyof Settings>(
  field: string,
  input: Input,
  {
    current,
    defaults,
    checks,
  }: {
    readonly current: Settings
    readonly defaults: Partial<Pick<Settings, Key>>
    readonly checks: { readonly [K in Key]: (field: string, value: NonNullable<Input[K]>) => Settings[K] }
  },
): Pick<Settings, Key> {
  const merge = (key: Key) => {
    const value = input[key]
    const place = `${field}.${String(key)}`
    if (value === undefined) return current[key]
    if (value !== null) return checks[key](place, value)
    if (key in defaults) return defaults[key]
    throw badUserInput(place, 'Must not be null. Omit it to keep the current value.')
  }
  return Object.fromEntries(keysOf(checks).map((key) => [key, merge(key)])) as Pick<Settings, Key>
}

/** For a value of which GraphQL has already checked everything. */
export function unchecked<Value>(_field: string, value: Value): Value {
  return value
}

/** Counts characters as Postgres does, by code point. */
export function characterCount(text: string): number {
  let count = text.length
  for (let index = 0; index < text.length; index += 1) {
    if ((text.codePointAt(index) ?? 0) > 0xffff) {
      count -= 1
      index += 1
    }
  }
  return count
}

export function checkedText(field: string, value: string, { max }: { readonly max: number }): string {
  const text = storableText(value)
  // No text has more characters than UTF-16 units, so most texts need no counting.
  if (text.length > max) {
    const count = characterCount(text)
    if (count > max) throw badUserInput(field, `It has ${count} characters. At most ${max} are allowed.`)
  }
  return text
}

/** Trims white space, and refuses an empty text. */
export function checkedName(field: string, value: string, { max }: { readonly max: number }): string {
  const name = checkedText(field, storableText(value).trim(), { max })
  if (name === '') throw badUserInput(field, `It is empty. Expected 1 to ${max} characters.`)
  return name
}

const toolNamePattern = /^[a-zA-Z0-9_-]{1,64}$/
const labelPattern = /^[a-zA-Z0-9_.-]{1,64}$/

export function checkedToolName(field: string, value: string): string {
  if (toolNamePattern.test(value)) return value
  throw badUserInput(
    field,
    `${shown(value)} is not a tool name. Expected 1 to 64 characters of a–z, A–Z, 0–9, _ and -.`,
  )
}

export function checkedLabel(field: string, value: string): string {
  if (labelPattern.test(value)) return value
  throw badUserInput(field, `${shown(value)} is not a label. Expected 1 to 64 characters of a–z, A–Z, 0–9, _, . and -.`)
}

interface Range {
  readonly from: number
  readonly to: number
}

/** For Int and Float alike: GraphQL has already checked the type. */
export function checkedNumber(field: string, value: number, { from, to }: Range): number {
  if (value >= from && value <= to) return value
  throw badUserInput(field, `${value} is out of range. Expected a number from ${from} to ${to}.`)
}

export function checkedCount(field: string, values: readonly unknown[], { max }: { readonly max: number }): void {
  if (values.length > max) throw badUserInput(field, `It has ${values.length} entries. At most ${max} are allowed.`)
}

/** Names the second of two equal values. */
export function checkedDistinct(field: string, values: readonly string[]): void {
  const seen = new Set<string>()
  for (const [index, value] of values.entries()) {
    if (seen.has(value)) throw badUserInput(`${field}.${index}`, `${shown(value)} is given twice. Remove one of them.`)
    seen.add(value)
  }
}

export function checkedDistinctIds(field: string, kind: UuidKind, ids: readonly string[]): void {
  const publicIds = ids.map((id) => encodeId(kind, id))
  checkedDistinct(field, publicIds)
}

export function checkedTags(field: string, values: readonly string[]): string[] {
  checkedCount(field, values, { max: 50 })
  const tags = values.map((value, index) => checkedName(`${field}.${index}`, value, { max: 64 }))
  checkedDistinct(field, tags)
  return tags
}

const maxJsonBytes = 64 * 1024

export function checkedObject(field: string, value: Json): JsonObject {
  if (!isJsonObject(value)) throw badUserInput(field, `It is ${kindOf(value)}. Expected a JSON object.`)
  checkedSize(field, value)
  return value
}

/** For a filter, in which null means the same as nothing. */
export function givenObject(field: string, value: Json | undefined): JsonObject | undefined {
  return value === null || value === undefined ? undefined : checkedObject(field, value)
}

function checkedSize(field: string, value: Json): void {
  const bytes = Buffer.byteLength(JSON.stringify(value))
  if (bytes > maxJsonBytes)
    throw badUserInput(field, `It is ${bytes} bytes of JSON. At most ${maxJsonBytes} are allowed.`)
}

/** The schema of a run's answer. Null means free text. */
export function checkedResponseSchema(field: string, schema: Json): Json {
  return schema === null ? null : checkedSchema(field, checkedObject(field, schema))
}

/** A JSON Schema. The error names the place of the fault. */
export function checkedSchema(field: string, value: Json): Json {
  checkedSize(field, value)
  const fault = faultOfSchema(value)
  if (!fault) return value
  const { path, message } = fault
  throw badUserInput(field, `It is not a valid JSON Schema: ${path === '' ? '' : `${path} `}${message}.`)
}

/** A JSON Schema for objects, which the parameters of tools must be. */
export function checkedObjectSchema(field: string, value: Json): JsonObject {
  const schema = checkedObject(field, value)
  checkedSchema(field, schema)
  if (schema.type !== 'object') {
    const type = schema.type === undefined ? 'no type' : `type ${JSON.stringify(schema.type)}`
    throw badUserInput(field, `Its top level is ${type}. Expected a JSON Schema with "type": "object".`)
  }
  return schema
}

export function checkedTimezone(field: string, value: string): string {
  try {
    new Intl.DateTimeFormat('en', { timeZone: value })
    return value
  } catch {
    throw badUserInput(field, `${shown(value)} is not a time zone. Expected an IANA name such as UTC or Europe/Berlin.`)
  }
}

/** A value for an error message, shortened if it is long. */
export function shown(value: string): string {
  return JSON.stringify(value.length > 100 ? `${value.slice(0, 99)}…` : value)
}

function kindOf(value: Json): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`
}
