import { isJsonObject, type JsonObject } from '../util/json.ts'

/**
 * What zod, valibot, arktype and others have in common (standardschema.dev), as far as it is used here: they check a
 * value, and say as JSON Schema what they take.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    readonly jsonSchema?: { readonly input: (options: { readonly target: string }) => Record<string, unknown> }
  }
}

type StandardResult<Output> =
  { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly StandardIssue[] }

interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

export type OutputOf<Schema extends StandardSchema> = NonNullable<Schema['~standard']['types']>['output']

export function isStandardSchema(value: unknown): value is StandardSchema {
  return (typeof value === 'object' || typeof value === 'function') && value !== null && '~standard' in value
}

/** What models are told of the arguments. */
export function toJsonSchema(schema: StandardSchema): JsonObject {
  const { jsonSchema, vendor } = schema['~standard']
  if (!jsonSchema) throw new Error(`This version of ${vendor} can't say its schemas as JSON Schema. Give one instead.`)
  const { $schema: _draft, ...converted } = jsonSchema.input({ target: 'draft-2020-12' })
  if (!isJsonObject(converted)) throw new Error(`${vendor} gave no JSON Schema.`)
  return converted
}

/** The value as the schema makes it; throws what is wrong with it, place by place. */
export async function parseWith(schema: StandardSchema, value: unknown): Promise<unknown> {
  const result = await schema['~standard'].validate(value)
  if (!result.issues) return result.value
  const problems = result.issues.map(({ message, path = [] }) => {
    const keys = path.map((key) => String(typeof key === 'object' ? key.key : key))
    return `${keys.length > 0 ? `/${keys.join('/')}` : 'arguments'} ${message}`
  })
  throw new Error(`The arguments don't fit: ${problems.join('; ')}.`)
}
