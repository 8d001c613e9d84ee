import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'

import { isJsonObject, type JsonObject } from '../util/json.ts'

/**
 * A schema of zod, valibot, arktype or another library that follows standardschema.dev and can be converted to JSON
 * Schema.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': StandardSchemaV1.Props<Input, Output> & Partial<StandardJSONSchemaV1.Props<Input, Output>>
}

export type OutputOf<Schema extends StandardSchema> = StandardSchemaV1.InferOutput<Schema>

export function isStandardSchema(value: unknown): value is StandardSchema {
  return (typeof value === 'object' || typeof value === 'function') && value !== null && '~standard' in value
}

/** The JSON Schema that models are sent. */
export function toJsonSchema(schema: StandardSchema): JsonObject {
  const { jsonSchema, vendor } = schema['~standard']
  if (!jsonSchema)
    throw new Error(`This version of ${vendor} cannot convert its schemas to JSON Schema. Pass a JSON Schema instead.`)
  const { $schema: _draft, ...converted } = jsonSchema.input({ target: 'draft-2020-12' })
  if (!isJsonObject(converted)) throw new Error(`${vendor} returned no JSON Schema.`)
  return converted
}

/** Parses a value with the schema. Throws an error that lists every problem with its path. */
export async function parseWith(schema: StandardSchema, value: unknown): Promise<unknown> {
  const result = await schema['~standard'].validate(value)
  if (!result.issues) return result.value
  const problems = result.issues.map(({ message, path = [] }) => {
    const keys = path.map((key) => String(typeof key === 'object' ? key.key : key))
    return `${keys.length > 0 ? `/${keys.join('/')}` : 'arguments'} ${message}`
  })
  throw new Error(`The arguments don't fit: ${problems.join('; ')}.`)
}
