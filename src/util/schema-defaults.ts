import { isJsonObject, type Json } from './json.ts'

/**
 * Adds the defaults of a JSON Schema for properties that the value lacks, also in nested objects and lists. Only
 * `properties` and `items` are used: which branch of an `anyOf` applies only a validator can tell.
 */
export function withDefaults(schema: Json | undefined, value: Json): Json {
  if (!isJsonObject(schema)) return value
  const { properties, items } = schema
  if (Array.isArray(value)) return isJsonObject(items) ? value.map((entry) => withDefaults(items, entry)) : value
  if (!isJsonObject(value) || !isJsonObject(properties)) return value
  const filled = Object.entries(properties).flatMap(([name, property]): [string, Json][] => {
    if (Object.hasOwn(value, name)) return [[name, withDefaults(property, value[name]!)]]
    return isJsonObject(property) && property['default'] !== undefined ? [[name, property['default']]] : []
  })
  return filled.length === 0 ? value : Object.fromEntries([...Object.entries(value), ...filled])
}
