import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { RE2JS } from 're2js'

import { isJsonObject, type Json } from './json.ts'
import { errorMessage } from './error-message.ts'

export interface SchemaProblem {
  /** A JSON Pointer into what was checked; empty for the whole of it. */
  readonly path: string
  readonly message: string
}

export type CompiledSchema =
  | { readonly ok: true; readonly validate: (value: Json) => SchemaProblem[] }
  /** What is wrong with the schema itself. */
  | { readonly ok: false; readonly problem: SchemaProblem }

/**
 * Patterns in time that grows with the text and nothing else: a pattern that a tenant wrote and a text that a model wrote
 * could otherwise hold the whole process up for hours. What that engine has not (looking around, referring back) is
 * refused with the schema.
 */
const linearTime = Object.assign((pattern: string) => RE2JS.compile(RE2JS.translateRegExp(pattern)), { code: 're2js' })

// Formats are annotations here, as the standard has them; coercion stays off: a value is what it is.
const options: Options = {
  strict: false,
  validateFormats: false,
  allErrors: true,
  logger: false,
  code: { regExp: linearTime },
}
const latest = new Ajv2020(options)
const draft7 = new Ajv(options)

const maxCompiled = 500
const maxProblems = 10
const compiled = new Map<string, CompiledSchema>()

/** Draft 2020-12, or draft 7 where `$schema` says so. Compiled once for as long as it is in use. */
export function compileSchema(schema: Json): CompiledSchema {
  const text = JSON.stringify(schema)
  const known = compiled.get(text) ?? compile(schema)
  // The one that was used longest ago is the first, and goes first.
  compiled.delete(text)
  compiled.set(text, known)
  if (compiled.size > maxCompiled) compiled.delete(compiled.keys().next().value!)
  return known
}

/**
 * What is wrong with the value: empty if it matches. A schema that cannot be evaluated (no JSON Schema, or one that
 * refers to itself for ever) is a problem too, never an exception: whoever checks a model's arguments must get on.
 */
export function checkSchema(schema: Json, value: Json): SchemaProblem[] {
  const { problems, failure } = evaluate(schema, value)
  return failure === undefined ? problems : [{ path: '', message: `cannot be checked: ${failure}` }]
}

/** Whether the value matches. Undefined if the schema cannot be evaluated. */
export function matchesSchema(schema: Json, value: Json): boolean | undefined {
  const { problems, failure } = evaluate(schema, value)
  return failure === undefined ? problems.length === 0 : undefined
}

function evaluate(schema: Json, value: Json): { problems: SchemaProblem[]; failure?: string } {
  const result = compileSchema(schema)
  if (!result.ok)
    return { problems: [], failure: `not a JSON Schema: ${result.problem.path} ${result.problem.message}` }
  try {
    return { problems: result.validate(value) }
  } catch (error) {
    return { problems: [], failure: error instanceof Error ? error.message : String(error) }
  }
}

function compile(schema: Json): CompiledSchema {
  if (typeof schema !== 'boolean' && !isJsonObject(schema))
    return { ok: false, problem: { path: '', message: 'must be an object or a boolean' } }
  const ajv =
    isJsonObject(schema) && typeof schema.$schema === 'string' && /draft-0[4-7]/.test(schema.$schema) ? draft7 : latest
  const subject = withOwnIdentity(schema)
  try {
    if (ajv.validateSchema(subject) !== true) return { ok: false, problem: problemsOf(ajv.errors)[0]! }
    const validate = ajv.compile<Json>(subject)
    return { ok: true, validate: (value) => problemsWith(validate, value) }
  } catch (error) {
    // An unknown $ref, a pattern that is no regular expression, or nesting that no stack holds.
    return { ok: false, problem: { path: '', message: errorMessage(error) } }
  } finally {
    // Ajv would keep it for ever.
    if (isJsonObject(subject)) ajv.removeSchema(subject)
  }
}

/**
 * Ids are shared by everything that uses one Ajv: a schema with the id of another, or of the standard, would replace it.
 * So each is compiled under the same id of ours and removed at once. It needs one for `$ref: '#'`.
 */
function withOwnIdentity(schema: boolean | { readonly [key: string]: Json }) {
  if (typeof schema === 'boolean') return schema
  const { $schema: _schema, ...rest } = schema
  return { ...rest, $id: 'schema:/own' }
}

function problemsWith(validate: ValidateFunction<Json>, value: Json): SchemaProblem[] {
  return validate(value) ? [] : problemsOf(validate.errors)
}

function problemsOf(errors: readonly ErrorObject[] | null | undefined): SchemaProblem[] {
  return (errors ?? []).slice(0, maxProblems).map((error) => ({ path: error.instancePath, message: messageOf(error) }))
}

function messageOf({ keyword, message, params }: ErrorObject): string {
  const text = message ?? `fails ${keyword}`
  if (keyword === 'additionalProperties') return `${text}: ${JSON.stringify(params.additionalProperty)}`
  if (keyword === 'enum') return `${text}: ${JSON.stringify(params.allowedValues)}`
  if (keyword === 'const') return `${text}: ${JSON.stringify(params.allowedValue)}`
  return text
}
