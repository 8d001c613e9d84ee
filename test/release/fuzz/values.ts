import {
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  type GraphQLInputObjectType,
  type GraphQLInputType,
} from 'graphql'

import { idPrefixes } from '../../../src/domain/ids.ts'
import type { Random } from './random.ts'

/** Ids and cursors that the server has returned: operations with real ids reach further. */
export interface Known {
  readonly ids: string[]
  readonly cursors: string[]
  readonly names: string[]
}

const texts = [
  'hello',
  '',
  ' ',
  'say hi\nthink well\nslow 1',
  'call core_memory_append {"label":"human"}',
  'call nothing {',
  'fail rate_limit',
  'fail everything',
  '\u0000',
  'a\u0000b',
  '\ud800',
  'é\u0301😀‮',
  "'; drop table runs; --",
  '__proto__',
  '$where',
  '{"a":1}',
  '%',
  '\\',
  'x'.repeat(300),
  'x'.repeat(70_000),
]
const integers = [0, 1, 2, 3, 50, 200, 201, -1, 2 ** 31 - 1, -(2 ** 31), 2 ** 31, 2 ** 53]
const times = [
  '2026-01-01T00:00:00Z',
  '2026-02-30T00:00:00Z',
  '9999-12-31T23:59:59.999Z',
  '-000001-01-01T00:00:00Z',
  'now',
]
const prefixes = Object.values(idPrefixes)
const prefixesOf = (name: string): string[] =>
  Object.entries(idPrefixes)
    .filter(([kind]) => name.toLowerCase().startsWith(`${kind.toLowerCase()}id`))
    .map(([, prefix]) => prefix)
const urls = [
  'http://127.0.0.1:9/',
  'http://[::1',
  'https://example.invalid/',
  'file:///etc/passwd',
  'javascript:1',
  '',
]

/** A value for an input of this type: usually a valid one, sometimes not. */
export function createValues(random: Random, known: Known) {
  function valueOf(type: GraphQLInputType, name: string, depth = 0): unknown {
    if (isNonNullType(type)) return random.chance(0.01) ? null : valueOf(type.ofType, name, depth)
    if (random.chance(0.08)) return null
    if (isListType(type)) {
      const length = depth > 4 ? 0 : random.pick([0, 1, 1, 2, 3])
      return Array.from({ length }, () => valueOf(type.ofType, name, depth + 1))
    }
    if (random.chance(0.02)) return wrong()
    if (isInputObjectType(type)) return objectOf(type, depth)
    if (isEnumType(type)) return random.pick(type.getValues()).name
    return scalarOf(type.name, name, depth)
  }

  function objectOf(type: GraphQLInputObjectType, depth: number): Record<string, unknown> {
    const fields = Object.values(type.getFields())
    if (type.isOneOf && !random.chance(0.05)) {
      const { name, type: inner } = random.pick(fields)
      return { [name]: valueOf(inner, name, depth + 1) ?? textOf(name) }
    }
    const wanted = fields.filter(
      ({ type: inner }) => (isNonNullType(inner) && !random.chance(0.01)) || (depth < 4 && random.chance(0.35)),
    )
    const noun = /^(?:[A-Z][a-z]+)([A-Z]\w*)Input$/.exec(type.name)?.[1] ?? ''
    return Object.fromEntries(
      wanted.map(({ name, type: inner }) => [name, valueOf(inner, name === 'id' ? `${noun}Id` : name, depth + 1)]),
    )
  }

  function scalarOf(scalar: string, name: string, depth: number): unknown {
    switch (scalar) {
      case 'ID':
        return idOf(name)
      case 'Int':
        return name.endsWith('Ms') ? random.pick([0, 1, 50, -1, 2 ** 31]) : random.pick(integers)
      case 'Float':
        return random.pick([0, 0.5, 1, -1, 1e308, 1.5])
      case 'Boolean':
        return random.chance(0.5)
      case 'DateTime':
        return random.pick(times)
      case 'EventCursor':
        return random.chance(0.5) && known.cursors.length > 0
          ? random.pick(known.cursors)
          : random.pick(['1', 'x', '', '9.9.9'])
      case 'JSON':
      case 'JSONObject':
        return jsonOf(depth)
      default:
        return textOf(name)
    }
  }

  /** Usually the id of an existing object that fits the name of the input: an agent's for `agentId`, any for `id`. */
  function idOf(name: string): string {
    const fitting = known.ids.filter((id) => prefixesOf(name).some((prefix) => id.startsWith(`${prefix}_`)))
    if (fitting.length > 0 && random.chance(0.8)) return random.pick(fitting)
    if (known.ids.length > 0 && random.chance(0.5)) return random.pick(known.ids)
    const digits = Array.from({ length: 32 }, () => random.below(16).toString(16)).join('')
    return random.pick([`${random.pick(prefixes)}_${digits}`, `${random.pick(prefixes)}_`, random.pick(texts)])
  }

  function textOf(name: string): string {
    if (name === 'model' || name === 'models') return random.chance(0.8) ? 'demo/scripted' : random.pick(texts)
    if (/url/i.test(name)) return random.pick(urls)
    if (name === 'after' || name === 'before') {
      return random.chance(0.5) && known.cursors.length > 0 ? random.pick(known.cursors) : random.pick(texts)
    }
    if (/timezone/i.test(name)) return random.pick(['UTC', 'Europe/Berlin', 'Mars/Olympus', ''])
    if (/name|label|tool|children/i.test(name) && random.chance(0.85)) {
      return known.names.length > 0 && random.chance(0.5) ? random.pick(known.names) : `name_${random.below(1_000)}`
    }
    return random.chance(0.5) ? 'hello' : random.pick(texts)
  }

  function jsonOf(depth: number): unknown {
    if (depth > 6 || random.chance(0.3)) return random.pick<unknown>([null, 1, 'x', true, [], {}, '\u0000', 1e308, -0])
    if (random.chance(0.3)) return { type: 'object', properties: { a: { type: 'string' } } }
    if (random.chance(0.05)) return deep(300)
    const length = random.below(4)
    return random.chance(0.3)
      ? Array.from({ length }, () => jsonOf(depth + 1))
      : Object.fromEntries(
          Array.from({ length }, () => [random.pick(['a', '', '__proto__', '$ref', 'type']), jsonOf(depth + 1)]),
        )
  }

  const wrong = (): unknown => random.pick<unknown>([1, 'text', true, [], {}, [[null]], { a: { b: 1 } }, 1.5])

  return { valueOf, wrong }
}

function deep(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level += 1) value = { a: value }
  return value
}
