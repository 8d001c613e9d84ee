import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

import type * as Yaml from 'yaml'

import { errorMessage } from '../util/error-message.ts'
import { isJsonObject, parseJson, type Json } from '../util/json.ts'
import { StartError } from '../util/start-error.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** The setting that names a file, and the environment, for secrets that a file names but does not contain. */
interface FileSource {
  readonly variable: string
  readonly environment: Environment
}

/** A value in a configuration file, and where it is. */
export interface Place {
  readonly value: Json | undefined
  /** The last part of the path to the value, which is the name of an entry. */
  readonly key: string
  readonly environment: Environment
  readonly at: (key: string, value: Json | undefined) => Place
  /** An error that names the setting, the file and the place. `what` continues "the place …". */
  readonly wrong: (what: string) => StartError
  readonly mustBe: (expected: string) => StartError
}

/** Checks the value at a place and returns what the program uses. Throws a StartError that says what is wrong. */
export type Shape<Value> = (place: Place) => Value

/** Reads a JSON or YAML file that a setting names. */
export function readConfigFile<Value>(path: string, shape: Shape<Value>, source: FileSource): Value {
  const fail = (what: string) => new StartError(`${source.variable}: ${what} (${path}).`)
  const placeAt = (names: readonly string[], value: Json | undefined): Place => {
    const wrong = (what: string) => fail(`${names.join('.') || 'the file'} ${what}`)
    return {
      value,
      key: names.at(-1) ?? '',
      environment: source.environment,
      at: (key, inner) => placeAt([...names, key], inner),
      wrong,
      mustBe: (expected) => wrong(value === undefined ? `is missing: expected ${expected}` : `must be ${expected}`),
    }
  }
  return shape(placeAt([], parse(path, fail)))
}

function parse(path: string, fail: (what: string) => StartError): Json {
  try {
    const text = readFileSync(path, 'utf8')
    if (path.endsWith('.json')) return parseJson(text)
    // Loaded only if there is such a file, which most servers do not have. JSON is valid YAML.
    const yaml: typeof Yaml = createRequire(import.meta.url)('yaml')
    return yaml.parse(text)
  } catch (error) {
    throw fail(`the file cannot be read as JSON or YAML: ${errorMessage(error)}`)
  }
}

function only<Value extends Json>(expected: string, fits: (value: Json) => unknown): Shape<Value> {
  return (place) => {
    if (place.value !== undefined && fits(place.value)) return place.value as Value
    throw place.mustBe(expected)
  }
}

export const text = only<string>('a text', (value) => typeof value === 'string')
export const filledText = only<string>('a text that is not empty', (value) => typeof value === 'string' && value !== '')
export const flag = only<boolean>('true or false', (value) => typeof value === 'boolean')
export const webAddress = only<string>(
  'an address that begins with http:// or https://',
  (value) => typeof value === 'string' && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol),
)

export function count(most: number): Shape<number> {
  return only(
    `a whole number from 1 to ${most}`,
    (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= most,
  )
}

/** `unit` continues "a number of …". */
export function amount(unit: string): Shape<number> {
  return only(`a number of ${unit}`, (value) => typeof value === 'number' && Number.isFinite(value) && value >= 0)
}

export function oneOf<Choice extends string>(choices: readonly Choice[]): Shape<Choice> {
  return only<Choice>(`one of ${choices.join(', ')}`, (value) => choices.some((choice) => choice === value))
}

/** The value of the environment variable that the file names. */
export const variable: Shape<string> = (place) => {
  const name = filledText(place)
  const value = place.environment[name]
  if (value) return value
  throw place.wrong(`names the variable ${name}, which is not set`)
}

/** Undefined if the field is absent or null. */
export function optional<Value>(of: Shape<Value>): Shape<Value | undefined> {
  return (place) => (place.value === undefined || place.value === null ? undefined : of(place))
}

export function list<Value>(of: Shape<Value>): Shape<readonly Value[]> {
  return (place) => {
    if (!Array.isArray(place.value)) throw place.mustBe('a list')
    return place.value.map((value: Json, index) => of(place.at(String(index), value)))
  }
}

/** An object with names of the owner's choice. */
export function entries<Value>(of: Shape<Value>): Shape<Readonly<Record<string, Value>>> {
  return (place) => {
    if (!isJsonObject(place.value)) throw place.mustBe('an object with one entry per name')
    return Object.fromEntries(Object.entries(place.value).map(([key, value]) => [key, of(place.at(key, value))]))
  }
}

type Fields = Readonly<Record<string, Shape<unknown>>>
type OptionalKey<Of extends Fields> = {
  [Key in keyof Of]: undefined extends ReturnType<Of[Key]> ? Key : never
}[keyof Of]
export type ObjectOf<Of extends Fields> = {
  readonly [Key in Exclude<keyof Of, OptionalKey<Of>>]: ReturnType<Of[Key]>
} & {
  readonly [Key in OptionalKey<Of>]?: Exclude<ReturnType<Of[Key]>, undefined>
}

/** An object with these fields and no others. An optional field that is absent stays absent. */
export function object<const Of extends Fields>(fields: Of): Shape<ObjectOf<Of>> {
  return (place) => {
    const { value } = place
    if (!isJsonObject(value)) throw place.mustBe(`an object with ${Object.keys(fields).join(', ')}`)
    const unknown = Object.keys(value).find((key) => !Object.hasOwn(fields, key))
    if (unknown !== undefined)
      throw place.wrong(`has no field "${unknown}": expected ${Object.keys(fields).join(', ')}`)
    const read = Object.entries(fields).map(([key, shape]) => [key, shape(place.at(key, value[key]))])
    return Object.fromEntries(read.filter(([, given]) => given !== undefined)) as ObjectOf<Of>
  }
}
