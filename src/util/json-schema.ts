import { hash } from 'node:crypto'

import { LRUCache } from 'lru-cache'

import type { Json } from './json.ts'
import { createJudge, type SchemaJob, type SchemaProblem, type SchemaVerdict } from './schema-threads.ts'

export type { SchemaProblem }

/**
 * JSON Schemas come from strangers, so they are compiled and evaluated in threads (`schema-threads`). Rules that need a
 * verdict stay synchronous and pure: they ask the functions here, which know the verdicts so far, and whoever applies
 * the rules does so inside of `judged` or `judging`. If a verdict is missing, the thread is asked for it, and the work
 * is done again.
 */

interface Question extends SchemaJob {
  readonly key: string
  readonly schemaKey: string
}

/** Work needs a verdict that is not known yet. `judging` catches it. */
class UnjudgedError extends Error {
  readonly question: Question

  constructor(question: Question) {
    super('A JSON Schema was used outside of `judged` and `judging`.')
    this.name = 'UnjudgedError'
    this.question = question
  }
}

/** The verdicts that a piece of synchronous work has, and the questions that it asked and that have none yet. */
interface Hearing {
  readonly known: Map<string, SchemaVerdict>
  readonly missing: Map<string, Question>
}

const maxVerdictChars = 8 * 1024 ** 2
const verdicts = new LRUCache<string, SchemaVerdict>({
  maxSize: maxVerdictChars,
  sizeCalculation: (verdict, key) => key.length + 100 + JSON.stringify(verdict).length,
})
/** For schemas that were quick until now, and for all others. So no new schema holds up the calls of known tools. */
const judgeQuick = createJudge({ max: 1, maxPerOwner: 1 })
const judgeAny = createJudge({ max: 3, maxPerOwner: 2 })
const quickMs = 20
const isQuick = new LRUCache<string, boolean>({ max: 2_000 })
const texts = new WeakMap<object, { readonly text: string; readonly key: string }>()
let hearing: Hearing | undefined

/**
 * Does synchronous work that has no effects, and gets the verdicts that it needs: it is repeated until it needs no
 * other verdict. `owner` is whoever may have to wait if its schemas take long.
 */
export async function judged<Result>(owner: string, work: () => Result): Promise<Result> {
  const known = new Map<string, SchemaVerdict>()
  for (;;) {
    const missing = new Map<string, Question>()
    const outcome = hear(work, { known, missing })
    if (missing.size === 0) return outcome()
    const asking = [...missing.values()].map(async (question) => {
      known.set(question.key, await ask(owner, question))
    })
    await Promise.all(asking)
  }
}

/** Does the work once. A value without a verdict counts as valid for now. Returns what gives the result, or throws. */
function hear<Result>(work: () => Result, during: Hearing): () => Result {
  const outer = hearing
  hearing = during
  try {
    const result = work()
    return () => result
  } catch (error) {
    return () => {
      throw error
    }
  } finally {
    hearing = outer
  }
}

/** The same for work that may wait. Whatever it has done is undone when it throws, as a transaction is. */
export async function judging<Result>(owner: string, work: () => Result | Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof UnjudgedError)) throw error
      await ask(owner, error.question)
    }
  }
}

/** What is wrong with a schema of draft 2020-12, or of draft 7 if `$schema` says so. Undefined if nothing is. */
export function faultOfSchema(schema: Json): SchemaProblem | undefined {
  const verdict = verdictOn(schema)
  return 'invalid' in verdict ? verdict.invalid : undefined
}

/**
 * Lists what is wrong with the value. Empty if it matches. A schema that cannot be evaluated (invalid, too expensive, or
 * one that refers to itself endlessly) is reported as a problem, never thrown: a run must continue after a model's bad
 * arguments.
 */
export function checkSchema(schema: Json, value: Json): readonly SchemaProblem[] {
  const { problems, failure } = evaluate(schema, value)
  return failure === undefined ? problems : [{ path: '', message: `cannot be checked: ${failure}` }]
}

/** Whether the value matches, or undefined if the schema cannot be evaluated. */
export function matchesSchema(schema: Json, value: Json): boolean | undefined {
  const { problems, failure } = evaluate(schema, value)
  return failure === undefined ? problems.length === 0 : undefined
}

function evaluate(schema: Json, value: Json): { problems: readonly SchemaProblem[]; failure?: string } {
  const verdict = verdictOn(schema, value)
  if ('problems' in verdict) return verdict
  if ('failure' in verdict) return { problems: [], failure: verdict.failure }
  return { problems: [], failure: `not a JSON Schema: ${verdict.invalid.path} ${verdict.invalid.message}` }
}

function verdictOn(schema: Json, value?: Json): SchemaVerdict {
  const { text, key: schemaKey } = textOf(schema)
  const given = value === undefined ? undefined : JSON.stringify(value)
  const key = given === undefined ? schemaKey : `${schemaKey} ${digest(given)}`
  const verdict = hearing?.known.get(key) ?? verdicts.get(key)
  if (verdict) return verdict
  const question = { key, schemaKey, schema: text, value: given }
  if (!hearing) throw new UnjudgedError(question)
  hearing.missing.set(key, question)
  return { problems: [] }
}

async function ask(owner: string, { key, schemaKey, schema, value }: Question): Promise<SchemaVerdict> {
  const startedAt = performance.now()
  const wasQuick = isQuick.get(schemaKey)
  const verdict = await (wasQuick ? judgeQuick : judgeAny)(owner, { schema, value })
  verdicts.set(key, verdict)
  const ms = performance.now() - startedAt
  // Whoever was slow once among the quick ones stays out.
  if (wasQuick === undefined ? ms < quickMs : wasQuick && ms > 10 * quickMs) isQuick.set(schemaKey, !wasQuick)
  return verdict
}

function textOf(schema: Json): { readonly text: string; readonly key: string } {
  const known = typeof schema === 'object' && schema !== null ? texts.get(schema) : undefined
  if (known) return known
  const text = JSON.stringify(schema)
  const made = { text, key: digest(text) }
  if (typeof schema === 'object' && schema !== null) texts.set(schema, made)
  return made
}

function digest(text: string): string {
  return hash('sha256', text, 'base64url')
}
