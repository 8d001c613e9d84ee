import { GraphQLError, Kind, type ValueNode } from 'graphql'

import { type Json, storableJson } from '../util/json.ts'
import { builder } from './builder.ts'

const instant = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/

builder.scalarType('DateTime', {
  description: 'An ISO 8601 instant, such as 2026-01-31T12:00:00.000Z. Results are in UTC with milliseconds.',
  serialize: (value) => value.toISOString(),
  parseValue(value) {
    const time = typeof value === 'string' && instant.test(value) ? new Date(value) : undefined
    if (!time || Number.isNaN(time.getTime()) || !isDay((value as string).slice(0, 10))) {
      throw new GraphQLError(
        `${JSON.stringify(value)} is not an instant. It must be ISO 8601 with a time zone, such as 2026-01-31T12:00:00.000Z.`,
      )
    }
    return time
  },
})

/** `Date` reads the 30th of February as the 1st of March. */
function isDay(text: string): boolean {
  return new Date(`${text}T00:00:00Z`).toISOString().startsWith(text)
}

builder.scalarType('JSON', {
  description: 'Any JSON value, nested at most 100 levels deep, with at most 120,000 values in it.',
  serialize: (value) => value,
  // Postgres refuses NUL and half a surrogate pair. They are removed here, so that the value in use is the stored one.
  parseValue: (value) => parsed(value as Json),
  parseLiteral: (node, variables) => storableJson(withinLimits(literalToJson(node, variables ?? {}))),
})

/** Variables are coerced twice: when the operation is checked, and when it is executed. */
const coerced = new WeakMap<object, Json>()

function parsed(value: Json): Json {
  if (typeof value !== 'object' || value === null) return storableJson(value)
  const result = coerced.get(value) ?? storableJson(withinLimits(value))
  coerced.set(value, result)
  return result
}

const maxJsonDepth = 100
const maxJsonValues = 120_000

/**
 * Functions that walk a value are recursive, so a value that is nested too deeply would overflow the stack later. A
 * value with a million keys would block the process for seconds.
 */
function withinLimits(value: Json): Json {
  let level: readonly Json[] = [value]
  let count = 0
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxJsonDepth) {
      throw new GraphQLError(`The JSON value is nested more than ${maxJsonDepth} levels deep, which is the limit.`)
    }
    count += level.length
    if (count > maxJsonValues) {
      throw new GraphQLError(`The JSON value has more than ${maxJsonValues} values in it, which is the limit.`)
    }
    level = level.flatMap((entry) => (typeof entry === 'object' && entry !== null ? Object.values(entry) : []))
  }
  return value
}

builder.scalarType('EventCursor', {
  description:
    'A position in an event stream. Clients must not parse it. It is valid for as long as the run exists, on every server of the installation.',
  serialize: (value) => value,
  parseValue(value) {
    if (typeof value !== 'string')
      throw new GraphQLError('A cursor must be a string from the `cursor` of an event or from `lastCursor`.')
    return value
  },
})

function literalToJson(node: ValueNode, variables: Record<string, unknown>): Json {
  switch (node.kind) {
    case Kind.NULL:
      return null
    case Kind.STRING:
    case Kind.BOOLEAN:
      return node.value
    case Kind.INT:
    case Kind.FLOAT:
      return Number(node.value)
    case Kind.LIST:
      return node.values.map((value) => literalToJson(value, variables))
    case Kind.OBJECT:
      return Object.fromEntries(node.fields.map((field) => [field.name.value, literalToJson(field.value, variables)]))
    case Kind.VARIABLE:
      return (variables[node.name.value] ?? null) as Json
    case Kind.ENUM:
      throw new GraphQLError(`${node.value} is not JSON. Put it in quotes.`)
    default:
      return node satisfies never
  }
}
