import { checkSchema } from '../../util/json-schema.ts'
import { parseStorable, type Json } from '../../util/json.ts'
import type { PromptState, RunState } from './run-state.ts'
import type { RunError } from './run.ts'
import type { Step } from './step.ts'

/** How often per run an answer is returned to the model because it does not satisfy the schema. */
const maxCorrections = 2

/** The JSON Schema that the run's final answer must satisfy. Null means free text. */
export function responseSchemaOf({ run, agent }: Pick<PromptState, 'run' | 'agent'>): Json {
  const { responseSchema } = run.request
  return responseSchema === undefined ? agent.modelSettings.responseSchema : responseSchema
}

/** The JSON value of an answer. Undefined if the text is not JSON. A code fence around it is ignored. */
export function parseOutput(text: string): Json | undefined {
  const [opening = '', ...lines] = text.trim().split('\n')
  const isFenced = /^```(?:json)?$/i.test(opening.trim()) && lines.at(-1)?.trim() === '```'
  return parseStorable(isFenced ? lines.slice(0, -1).join('\n') : text)
}

/** Why the answer does not satisfy the schema. Undefined if it does. */
export function faultOfAnswer(schema: Json, text: string): RunError | undefined {
  const value = parseOutput(text)
  const problems = value === undefined ? [] : checkSchema(schema, value)
  if (value !== undefined && problems.length === 0) return undefined
  const told = problems.map(({ path, message }) => `${path || 'the answer'} ${message}`).join('; ')
  return {
    type: 'LLM_ERROR',
    message: `The answer does not satisfy the response schema: ${told || 'it is not a JSON value'}.`,
    detail: null,
    retryable: true,
  }
}

/** Tells the model why its answer was not accepted. */
export function correctionOf(fault: RunError): string {
  return `${fault.message} Answer again, with nothing but a JSON value that satisfies the schema.`
}

/**
 * Whether the step's answer was rejected. The step's error is the reason; its stop reason means that the model has not
 * been told yet.
 */
export function isFaulty(step: Step): step is Step & { readonly error: RunError } {
  return step.status === 'COMPLETED' && step.error !== null
}

export function mayCorrect({ steps }: Pick<RunState, 'steps'>): boolean {
  return steps.filter(isFaulty).length <= maxCorrections
}
