import { isJsonObject, type Json, type JsonObject } from './json.ts'

/** How much may be added to a value: characters of JSON, and one for each property that is looked at. */
const maxAdded = 1_000_000

/** The properties with defaults, their own or inside, and how long their own default is as JSON. */
type Defaults = readonly (readonly [name: string, property: JsonObject, size: number])[]

const known = new WeakMap<JsonObject, Defaults>()

/**
 * Adds the defaults of a JSON Schema for properties that the value lacks, also in nested objects and lists. Only
 * `properties` and `items` are used: which branch of an `anyOf` applies only a validator can tell. Undefined if the
 * defaults are too large together: a list of many items has them many times.
 */
export function withDefaults(schema: Json | undefined, value: Json): Json | undefined {
  let left = maxAdded
  const fill = (part: Json | undefined, given: Json): Json => {
    if (left < 0 || !isJsonObject(part) || !hasDefaults(part)) return given
    const { items } = part
    if (Array.isArray(given)) return isJsonObject(items) ? given.map((entry) => fill(items, entry)) : given
    if (!isJsonObject(given)) return given
    const filled = defaultsOf(part).flatMap(([name, property, size]): [string, Json][] => {
      left -= 1
      const own = Object.hasOwn(given, name) ? given[name] : undefined
      if (own !== undefined) return [[name, fill(property, own)]]
      left -= size
      return left < 0 || property['default'] === undefined ? [] : [[name, property['default']]]
    })
    return filled.length === 0 ? given : Object.fromEntries([...Object.entries(given), ...filled])
  }
  const result = fill(schema, value)
  return left < 0 ? undefined : result
}

function hasDefaults(schema: Json | undefined): boolean {
  return isJsonObject(schema) && (defaultsOf(schema).length > 0 || hasDefaults(schema.items))
}

function defaultsOf(schema: JsonObject): Defaults {
  const found = known.get(schema) ?? findDefaults(schema)
  known.set(schema, found)
  return found
}

function findDefaults({ properties }: JsonObject): Defaults {
  if (!isJsonObject(properties)) return []
  return Object.entries(properties).flatMap(([name, property]) => {
    if (!isJsonObject(property)) return []
    const { default: value } = property
    if (value === undefined && !hasDefaults(property)) return []
    return [[name, property, value === undefined ? 0 : JSON.stringify(value).length] as const]
  })
}
