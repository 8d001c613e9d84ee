import { createPublicKey, type KeyObject } from 'node:crypto'
import { resolve } from 'node:path'

import { StartError } from '../util/start-error.ts'
import { readConfigFile, type Environment, type Shape } from './file.ts'

/** One environment variable: what `--help` and the documentation say about it, and how it is read. */
export interface Setting<Value> {
  readonly meaning: string
  readonly shownDefault: string
  /** `given` is undefined if the variable is unset or empty. Throws a StartError if the value is invalid. */
  readonly read: (given: string | undefined, variable: string, environment: Environment) => Value
}

/** A kind whose default is written as in the environment. */
interface Rule<Value> {
  /** As in the environment. */
  readonly default?: string | undefined
  /** What an error says about valid values. */
  readonly expected: string
  /** Returns undefined if the text is invalid. */
  readonly parse: (text: string) => Value | undefined
  /** What an error shows of the value. Defaults to all of it. */
  readonly show?: (text: string) => string
}

function setting<Value>(
  meaning: string,
  { default: initial = '', expected, parse, show }: Rule<Value>,
): Setting<Value> {
  return {
    meaning,
    shownDefault: initial || 'none',
    read(given = initial, variable) {
      const value = parse(given)
      if (value !== undefined) return value
      throw new StartError(`${variable} is "${show ? show(given) : given}", but must be ${expected}.`)
    },
  }
}

/** Undefined unless it is set. `shownDefault` says what then happens. */
export function optional<Value>(of: Setting<Value>, shownDefault = 'none'): Setting<Value | undefined> {
  const read: Setting<Value | undefined>['read'] = (given, ...rest) =>
    given === undefined ? undefined : of.read(given, ...rest)
  return { ...of, shownDefault, read }
}

export function integer(meaning: string, least: number, most: number, initial = least): Setting<number> {
  return setting(meaning, {
    default: String(initial),
    expected: `a whole number from ${least} to ${most}`,
    parse(text) {
      const number = /^\d+$/.test(text) ? Number(text) : Number.NaN
      return number >= least && number <= most ? number : undefined
    },
  })
}

/** 0 means no limit. */
export const limit = (meaning: string, initial = 0) => integer(`${meaning}; 0: no limit`, 0, 1_000_000, initial)

const lengths: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

export function durationToMs(given: string): number | undefined {
  if (given === '0') return 0
  const [, digits, unit = ''] = /^(\d{1,9})\s*([smhd])$/i.exec(given) ?? []
  const length = lengths[unit.toLowerCase()]
  return length && Number(digits) * length
}

const longestDays = 3650

/** In milliseconds. */
export function duration(meaning: string, initial: string): Setting<number> {
  return setting(meaning, {
    default: initial,
    expected: `0, or a time up to ${longestDays}d such as 30m, 12h or 7d`,
    parse(text) {
      const ms = durationToMs(text)
      return ms === undefined || ms > longestDays * 86_400_000 ? undefined : ms
    },
  })
}

/** In milliseconds. Null means forever. */
export function kept(meaning: string): Setting<number | null> {
  const { read } = duration(meaning, '0')
  return {
    meaning,
    shownDefault: 'forever',
    read: (given, ...rest) => (given === undefined ? null : read(given, ...rest)),
  }
}

const units: Readonly<Record<string, number>> = { '': 1, b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 }

function toBytes(text: string): number {
  const [, digits, unit = ''] = /^(\d{1,12})\s*(b|kb|mb|gb|)$/i.exec(text) ?? []
  return Number(digits) * (units[unit.toLowerCase()] ?? Number.NaN)
}

export function bytes(meaning: string, most: string, initial?: string): Setting<number> {
  return setting(meaning, {
    default: initial,
    expected: `a size from 1kb to ${most}, such as 512kb or 10mb`,
    parse(text) {
      const size = toBytes(text)
      return size >= 1024 && size <= toBytes(most) ? size : undefined
    },
  })
}

export function choice<Choice extends string>(
  meaning: string,
  choices: readonly Choice[],
  initial: Choice,
): Setting<Choice> {
  return setting(meaning, {
    default: initial,
    expected: `one of ${choices.join(', ')}`,
    parse: (text) => choices.find((one) => one === text),
  })
}

/** Written as 0 or 1. */
export function flag(meaning: string, initial: '0' | '1'): Setting<boolean> {
  const chosen = choice(meaning, ['0', '1'], initial)
  return { ...chosen, read: (...given) => chosen.read(...given) === '1' }
}

export function text(meaning: string, pattern: RegExp, expected: string, initial?: string): Setting<string> {
  return setting(meaning, {
    default: initial,
    expected,
    parse: (text) => (pattern.test(text) ? text : undefined),
  })
}

export function path(meaning: string, initial?: string): Setting<string> {
  return setting(meaning, { default: initial, expected: 'a path', parse: (text) => resolve(text) })
}

/** The content of a JSON or YAML file. If none is named, `absent`. */
export function file<Value, Absent>(meaning: string, shape: Shape<Value>, absent: Absent): Setting<Value | Absent> {
  return {
    meaning: `a JSON or YAML file with ${meaning}`,
    shownDefault: 'none',
    read: (given, variable, environment) =>
      given === undefined ? absent : readConfigFile(resolve(given), shape, { variable, environment }),
  }
}

/** No message shows the value of a secret. */
const hidden = () => '***'
const printable = /^[\x21-\x7e]+$/

export function secret(meaning: string): Setting<string> {
  return setting(meaning, {
    expected: 'printable characters without spaces',
    parse: (text) => (printable.test(text) ? text : undefined),
    show: hidden,
  })
}

/** The keys are random, so a plain derivation is enough. Short ones could be guessed. */
export function secretKeys(meaning: string): Setting<readonly string[]> {
  return setting(meaning, {
    expected: 'keys of at least 32 printable characters, such as the output of openssl rand -base64 32',
    parse(text) {
      const keys = text.split(',').filter((key) => key !== '')
      return keys.every((key) => key.length >= 32 && printable.test(key)) ? Object.freeze(keys) : undefined
    },
    show: hidden,
  })
}

/** In the environment, line breaks may be written as `\n`. */
export function publicKey(meaning: string): Setting<KeyObject> {
  return setting(meaning, {
    expected: 'a public key in PEM format, which begins with -----BEGIN PUBLIC KEY-----',
    parse(text) {
      try {
        return createPublicKey(text.replaceAll('\\n', '\n'))
      } catch {
        return undefined
      }
    },
    show: hidden,
  })
}

export function url(meaning: string, protocols: readonly string[]): Setting<string> {
  return setting(meaning, {
    expected: `an address that begins with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
    parse: (text) => (URL.canParse(text) && protocols.includes(new URL(text).protocol) ? text : undefined),
    // The password is not shown. It may contain an @ itself.
    show: (text) => text.replace(/^([a-z]+:\/\/)?([^:@]*:)?.*@/is, '$1$2***@'),
  })
}

export const webUrl = (meaning: string) => url(meaning, ['http:', 'https:'])

/** An address that paths are appended to. */
export function publicUrl(meaning: string): Setting<string> {
  return setting(meaning, {
    expected: 'an address that begins with http:// or https://, without a query, a fragment or a user name',
    parse(text) {
      const url = URL.canParse(text) ? new URL(text) : undefined
      const isWeb = url?.protocol === 'http:' || url?.protocol === 'https:'
      if (!isWeb || url.search !== '' || url.hash !== '' || url.username !== '') return undefined
      return text.replace(/\/+$/, '')
    },
  })
}

/** Names and values as in OpenTelemetry: `name=value`, percent-encoded, separated by commas. */
export function headers(meaning: string): Setting<Readonly<Record<string, string>>> {
  return setting(meaning, {
    expected: 'pairs such as name=value, separated by commas',
    parse(text) {
      const pairs = text.split(',').filter((pair) => pair.trim() !== '')
      const read = pairs.flatMap((pair) => {
        const [, name, value = ''] = /^\s*([\w!#$%&'*+.^`|~-]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? []
        const decoded = decodePercent(value)
        return name === undefined || decoded === undefined ? [] : [[name, decoded] as const]
      })
      return read.length === pairs.length ? Object.freeze(Object.fromEntries(read)) : undefined
    },
    show: hidden,
  })
}

function decodePercent(text: string): string | undefined {
  try {
    const decoded = decodeURIComponent(text)
    return /^[\x20-\x7e]*$/.test(decoded) ? decoded : undefined
  } catch {
    return undefined
  }
}

/** The final slash of an origin is left out. */
export function origins(meaning: string): Setting<readonly string[]> {
  return setting(meaning, {
    expected: 'origins such as https://app.example.com, separated by commas',
    parse(text) {
      const list = originsIn(text)
      return list.every(isOrigin) ? Object.freeze(list) : undefined
    },
    show: (text) => originsIn(text).find((origin) => !isOrigin(origin)) ?? text,
  })
}

function originsIn(text: string): string[] {
  return text
    .split(',')
    .map((one) => one.trim().replace(/\/$/, ''))
    .filter((origin) => origin !== '')
}

function isOrigin(value: string): boolean {
  if (!URL.canParse(value)) return false
  const { protocol, origin } = new URL(value)
  return /^https?:$/.test(protocol) && origin === value
}
