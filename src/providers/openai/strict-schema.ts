import { isJsonObject, type Json } from '../../util/json.ts'

/**
 * Whether a provider can enforce this schema unchanged: every object is closed, every property required, and it uses
 * only keywords that all providers accept. A schema is never changed to fit, because the tool's arguments would change
 * with it.
 */
export function isStrictSchema(schema: Json): boolean {
  return isJsonObject(schema) && schema['type'] === 'object' && fits(schema, 0)
}

const keywords = new Set([
  ...['type', 'description', 'title', 'properties', 'required', 'additionalProperties'],
  ...['items', 'enum', 'const', 'anyOf'],
])

function fits(schema: Json, depth: number): boolean {
  if (!isJsonObject(schema) || depth > 5) return false
  if (!Object.keys(schema).every((keyword) => keywords.has(keyword))) return false
  const { type, properties, required, items, anyOf } = schema
  if (type === undefined && anyOf === undefined && schema['enum'] === undefined && schema['const'] === undefined)
    return false
  if (type === 'object') {
    const names = isJsonObject(properties) ? Object.keys(properties) : []
    const needed = Array.isArray(required) ? required : []
    if (schema['additionalProperties'] !== false) return false
    if (!names.every((name) => needed.includes(name))) return false
    if (isJsonObject(properties) && !Object.values(properties).every((value) => fits(value, depth + 1))) return false
  }
  if (type === 'array' && (items === undefined || !fits(items, depth + 1))) return false
  return anyOf === undefined || (Array.isArray(anyOf) && anyOf.every((value: Json) => fits(value, depth + 1)))
}
