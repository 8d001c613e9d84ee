import { createRequire } from 'node:module'
import { readlinkSync } from 'node:fs'
import { basename } from 'node:path'
import { parentPort } from 'node:worker_threads'

import type * as AjvPackage from 'ajv'
import type { Ajv, ErrorObject, Options, ValidateFunction } from 'ajv'
import type * as Ajv2020Package from 'ajv/dist/2020.js'
import { LRUCache } from 'lru-cache'
import type * as Re2jsPackage from 're2js'

import { errorMessage } from './error-message.ts'
import { isJsonObject, parseJson, type Json } from './json.ts'
import type { SchemaJob, SchemaProblem, SchemaVerdict } from './schema-threads.ts'

/** A thread that compiles and evaluates one schema after another. Whoever started it ends it if one takes too long. */

type Compiled = ValidateFunction<Json> | { readonly invalid: SchemaProblem }

const maxProblems = 10
/** An enum may be large, and its message lists it. */
const maxMessage = 1_000
/** Counts the characters of the schemas, so that what they are compiled to stays far below the thread's memory. */
const compiled = new LRUCache<string, Compiled>({
  maxSize: 256 * 1024,
  sizeCalculation: (_, schema) => schema.length + 1,
})
const { latest, draft7 } = loadValidators()

parentPort?.on('message', (job: SchemaJob) => parentPort?.postMessage(judge(job)))
parentPort?.postMessage({ ready: threadId() })

/** Both use the same options. */
function loadValidators(): { readonly latest: Ajv; readonly draft7: Ajv } {
  const require = createRequire(import.meta.url)
  const { Ajv }: typeof AjvPackage = require('ajv')
  const { Ajv2020 }: typeof Ajv2020Package = require('ajv/dist/2020.js')
  const { RE2JS }: typeof Re2jsPackage = require('re2js')
  /**
   * Matches patterns in linear time: most of what would backtrack for hours then has an answer within the time that a
   * schema may take. A schema whose pattern needs lookaround or back references is refused.
   */
  const linearTime = (pattern: string) => RE2JS.compile(RE2JS.translateRegExp(pattern))
  // Formats are annotations, as the standard says, and values are not coerced. A definition is compiled once, not for
  // each reference to it.
  const options: Options = {
    strict: false,
    validateFormats: false,
    allErrors: true,
    logger: false,
    inlineRefs: false,
    code: { regExp: Object.assign(linearTime, { code: 're2js' }) },
  }
  return { latest: new Ajv2020(options), draft7: new Ajv(options) }
}

function judge({ schema, value }: SchemaJob): SchemaVerdict {
  const validate = compiled.get(schema) ?? compile(parseJson(schema))
  compiled.set(schema, validate)
  if (typeof validate !== 'function') return validate
  if (value === undefined) return { problems: [] }
  try {
    return { problems: validate(JSON.parse(value)) ? [] : problemsOf(validate.errors) }
  } catch (error) {
    return { failure: errorMessage(error) }
  }
}

function compile(schema: Json): Compiled {
  const invalid = (message: string) => ({ invalid: { path: '', message } })
  if (typeof schema !== 'boolean' && !isJsonObject(schema)) return invalid('must be an object or a boolean')
  const ajv =
    isJsonObject(schema) && typeof schema.$schema === 'string' && /draft-0[4-7]/.test(schema.$schema) ? draft7 : latest
  const subject = withOwnIdentity(schema)
  try {
    if (hasAsync(subject)) return invalid('must not have $async')
    const isValid = ajv.validateSchema(subject) === true
    const [problem] = isValid ? [] : problemsOf(ajv.errors)
    return problem ? { invalid: problem } : ajv.compile<Json>(subject)
  } catch (error) {
    // An unknown $ref, an invalid regular expression, or nesting that overflows the stack.
    return invalid(errorMessage(error).slice(0, maxMessage))
  } finally {
    // Ajv would otherwise keep the schema forever.
    if (isJsonObject(subject)) ajv.removeSchema(subject)
  }
}

/** Keywords whose value is not a schema, and keywords whose value has a schema for each name. */
const data: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples'])
const named: ReadonlySet<string> = new Set([
  ...['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies'],
])

/** Ajv's own keyword: the validator would return a promise, which counts as valid. */
function hasAsync(schema: Json): boolean {
  if (Array.isArray(schema)) return schema.some(hasAsync)
  if (!isJsonObject(schema)) return false
  return Object.entries(schema).some(([keyword, value]) => {
    if (keyword === '$async') return value !== false
    if (data.has(keyword)) return false
    if (named.has(keyword) && isJsonObject(value)) return Object.values(value).some(hasAsync)
    return hasAsync(value)
  })
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

function problemsOf(errors: readonly ErrorObject[] | null | undefined): SchemaProblem[] {
  return (errors ?? []).slice(0, maxProblems).map((error) => ({
    path: error.instancePath.slice(0, maxMessage),
    message: messageOf(error).slice(0, maxMessage),
  }))
}

function messageOf({ keyword, message, params }: ErrorObject): string {
  const text = message ?? `fails ${keyword}`
  if (keyword === 'additionalProperties') return `${text}: ${JSON.stringify(params.additionalProperty)}`
  if (keyword === 'enum') return `${text}: ${JSON.stringify(params.allowedValues)}`
  if (keyword === 'const') return `${text}: ${JSON.stringify(params.allowedValue)}`
  return text
}

/** The id of this thread in the operating system. Undefined where it cannot be told, which is everywhere but on Linux. */
function threadId(): number | undefined {
  try {
    return Number(basename(readlinkSync('/proc/thread-self')))
  } catch {
    return undefined
  }
}
