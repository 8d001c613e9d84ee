import { createRequire } from 'node:module'

import type * as AjvPackage from 'ajv'
import type { Ajv, ErrorObject, Options, ValidateFunction } from 'ajv'
import type * as Ajv2020Package from 'ajv/dist/2020.js'
import { LRUCache } from 'lru-cache'
import type * as Re2jsPackage from 're2js'

import { isJsonObject, type Json } from './json.ts'
import { errorMessage } from './error-message.ts'

export interface SchemaProblem {
  /** A JSON Pointer to the invalid value. Empty for the whole value. */
  readonly path: string
  readonly message: string
}

export type CompiledSchema =
  | { readonly ok: true; readonly validate: (value: Json) => SchemaProblem[] }
  /** The schema itself is invalid. */
  | { readonly ok: false; readonly problem: SchemaProblem }

/** Both use the same options. They are loaded when first needed: a hundred modules that would slow down the start. */
interface Validators {
  readonly latest: Ajv
  readonly draft7: Ajv
}

let validators: Validators | undefined

function loadValidators(): Validators {
  const require = createRequire(import.meta.url)
  const { Ajv } = require('ajv') as typeof AjvPackage
  const { Ajv2020 } = require('ajv/dist/2020.js') as typeof Ajv2020Package
  const { RE2JS } = require('re2js') as typeof Re2jsPackage
  /**
   * Matches patterns in linear time. With JavaScript's own engine, a tenant's pattern and a model's text could block
   * the whole process for hours. A schema whose pattern needs lookaround or back references is refused.
   */
  const linearTime = (pattern: string) => RE2JS.compile(RE2JS.translateRegExp(pattern))
  // Formats are annotations, as the standard says, and values are not coerced.
  const options: Options = {
    strict: false,
    validateFormats: false,
    allErrors: true,
    logger: false,
    code: { regExp: Object.assign(linearTime, { code: 're2js' }) },
  }
  return { latest: new Ajv2020(options), draft7: new Ajv(options) }
}

const maxProblems = 10
const compiled = new LRUCache<string, CompiledSchema>({ max: 500 })

/** Compiles a schema of draft 2020-12, or of draft 7 if `$schema` says so. Keeps the 500 most recently used schemas. */
export function compileSchema(schema: Json): CompiledSchema {
  const text = JSON.stringify(schema)
  const known = compiled.get(text) ?? compile(schema)
  compiled.set(text, known)
  return known
}

/**
 * Lists what is wrong with the value. Empty if it matches. A schema that cannot be evaluated (invalid, or one that
 * refers to itself endlessly) is reported as a problem, never thrown: a run must continue after a model's bad
 * arguments.
 */
export function checkSchema(schema: Json, value: Json): SchemaProblem[] {
  const { problems, failure } = evaluate(schema, value)
  return failure === undefined ? problems : [{ path: '', message: `cannot be checked: ${failure}` }]
}

/** Whether the value matches, or undefined if the schema cannot be evaluated. */
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
    return { problems: [], failure: errorMessage(error) }
  }
}

function compile(schema: Json): CompiledSchema {
  if (typeof schema !== 'boolean' && !isJsonObject(schema))
    return { ok: false, problem: { path: '', message: 'must be an object or a boolean' } }
  const { latest, draft7 } = (validators ??= loadValidators())
  const ajv =
    isJsonObject(schema) && typeof schema.$schema === 'string' && /draft-0[4-7]/.test(schema.$schema) ? draft7 : latest
  const subject = withOwnIdentity(schema)
  try {
    if (ajv.validateSchema(subject) !== true) return { ok: false, problem: problemsOf(ajv.errors)[0]! }
    const validate = ajv.compile<Json>(subject)
    return { ok: true, validate: (value) => problemsWith(validate, value) }
  } catch (error) {
    // An unknown $ref, an invalid regular expression, or nesting that overflows the stack.
    return { ok: false, problem: { path: '', message: errorMessage(error) } }
  } finally {
    // Ajv would otherwise keep the schema forever.
    if (isJsonObject(subject)) ajv.removeSchema(subject)
  }
}

/**
 * Gives every schema the same id of our own, because all schemas in one Ajv instance share their ids: a tenant's schema
 * could replace another one, or the meta-schema. It needs some id for `$ref: '#'`, and is removed right after
 * compiling.
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
