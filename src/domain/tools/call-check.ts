import { checkSchema, type SchemaProblem } from '../../util/json-schema.ts'
import { withDefaults } from '../../util/schema-defaults.ts'
import { cutText, isJsonObject, sameJson, type Json, type JsonObject } from '../../util/json.ts'
import { findClientTool, findTool, isAnswered, lastStep, type PromptState, type RunState } from '../runs/run-state.ts'
import { hasRun } from './tool-call.ts'
import {
  allowedTools,
  forcesCall,
  looksAtHistory,
  prefilledArguments,
  uncalledTools,
  type PastCall,
} from './tool-rule-solver.ts'

/** Why a call is not run. */
export interface CallFault {
  /** What the model is told, so that it can correct the call. */
  readonly message: string
  /** The arguments that a rule fixes are wrong. The model cannot correct that, so the run ends. */
  readonly stopsRun: boolean
}

export interface CallInQuestion {
  readonly name: string
  readonly arguments: Json
  readonly argumentsText: string
  /** Its place among the calls of the last step. */
  readonly ordinal: number
}

/** The run's calls that actually ran, over all its steps, pauses and workers. */
function historyOf(state: Pick<PromptState, 'calls'>): PastCall[] {
  return state.calls.filter(hasRun).map((call) => ({ name: call.name, output: call.result?.output ?? '' }))
}

/** The agent's tools and the client tools of the request, by name. */
function toolNamesOf(state: PromptState): string[] {
  const names = [...state.tools.map(({ tool }) => tool.name), ...state.run.request.clientTools.map(({ name }) => name)]
  return [...new Set(names)]
}

/** The parameters of the tool with this name. */
export function parametersOf(state: RunState, name: string): JsonObject | undefined {
  return (findClientTool(state.run.request, name) ?? findTool(state, name)?.tool)?.parameters
}

/** What the model may call next, and whether it must. */
export function nextCalls(state: PromptState): { readonly tools: readonly string[]; readonly forced: boolean } {
  const history = historyOf(state)
  const tools = allowedTools(state.agent.toolRules, history, toolNamesOf(state))
  return { tools, forced: forcesCall(state.agent.toolRules, history) || wasReminded(state) }
}

/** Tools that must still be called before the run may end. Empty if no tool may be called any more. */
export function missingCalls(state: PromptState): string[] {
  const { toolRules } = state.agent
  const names = toolNamesOf(state)
  const missing = uncalledTools(toolRules, historyOf(state)).filter((tool) => names.includes(tool))
  return missing.length > 0 && allowedTools(toolRules, historyOf(state), names).length > 0 ? missing : []
}

/** The previous step had no calls and yet the run continues: the model was told what is missing. */
function wasReminded(state: PromptState): boolean {
  const before = state.steps.at(-2)
  return (
    before !== undefined &&
    isAnswered(before) &&
    !state.calls.some((call) => call.stepIndex === before.index) &&
    missingCalls(state).length > 0
  )
}

/** The model's arguments, overridden by the arguments that rules fix. */
export function withPrefilled(state: RunState, call: Pick<CallInQuestion, 'name' | 'arguments'>): Json {
  const prefilled = prefilledFor(state, call.name)
  return prefilled && isJsonObject(call.arguments) ? { ...call.arguments, ...prefilled } : call.arguments
}

/** Why the call cannot run now. Undefined if it can. */
export function faultOfCall(state: RunState, call: CallInQuestion): CallFault | undefined {
  const parameters = parametersOf(state, call.name)
  const allowed = allowedNow(state, call)
  if (!parameters) return fault(`There is no tool named ${call.name}. ${listing(allowed)}`)
  if (!allowed.includes(call.name)) return fault(`The rules don't allow ${call.name} now. ${listing(allowed)}`)

  const prefilled = prefilledFor(state, call.name)
  const misfits = prefilled ? checkSchema(propertiesOf(parameters), prefilled) : []
  if (misfits.length > 0) {
    const message = `The arguments that a tool rule fixes for ${call.name} don't fit its parameters: ${told(misfits)}.`
    return { message, stopsRun: true }
  }
  if (!isJsonObject(call.arguments))
    return fault(`The arguments of ${call.name} are not a JSON object. They were: ${cutText(call.argumentsText, 500)}`)
  const problems = problemsOfArguments(parameters, call.arguments)
  if (problems.length > 0) return fault(`The arguments of ${call.name} don't fit its parameters: ${told(problems)}.`)
  return undefined
}

/** What is wrong with the arguments that a person gave instead of the model's. */
export function problemsOfEdit(state: RunState, call: CallInQuestion): readonly SchemaProblem[] {
  const parameters = parametersOf(state, call.name)
  const prefilled = Object.entries(prefilledFor(state, call.name) ?? {})
  const given = isJsonObject(call.arguments) ? call.arguments : {}
  return [
    ...(parameters ? problemsOfArguments(parameters, call.arguments) : []),
    ...prefilled
      .filter(([name, value]) => !sameJson(given[name], value))
      .map(([name, value]) => ({
        path: pointer(name),
        message: `is fixed by a tool rule to ${JSON.stringify(value)}`,
      })),
  ]
}

/** What is wrong with the arguments that the tool would be called with. */
function problemsOfArguments(parameters: JsonObject, args: Json): readonly SchemaProblem[] {
  const filled = withDefaults(parameters, args)
  return filled === undefined ? [{ path: '', message: defaultsTooLarge }] : checkSchema(parameters, filled)
}

export const defaultsTooLarge = 'would be larger than 1 MB with the defaults of the parameters'

/** Rules that depend on earlier calls allow one call per step, so the calls are checked once per answer. */
function allowedNow(state: RunState, call: CallInQuestion): string[] {
  const { toolRules } = state.agent
  if (!looksAtHistory(toolRules)) return toolNamesOf(state)
  return allowedTools(toolRules, historyOf(state), toolNamesOf(state), underWay(state, call))
}

/** The arguments that rules fix for a call of this tool, if any. */
function prefilledFor(state: RunState, name: string): JsonObject | undefined {
  const { toolRules } = state.agent
  return looksAtHistory(toolRules) ? prefilledArguments(toolRules, historyOf(state), name) : undefined
}

/**
 * Calls of the step that will run but have not yet. They count, so that several calls together do not exceed a limit.
 */
function underWay(state: RunState, { ordinal }: CallInQuestion): string[] {
  const step = lastStep(state)?.index
  return state.calls
    .filter((call) => call.stepIndex === step && call.ordinal !== ordinal)
    .filter((call) => call.status === 'RUNNING' || (call.ordinal < ordinal && !isOver(call.status)))
    .map((call) => call.name)
}

function isOver(status: string): boolean {
  return status !== 'PENDING' && status !== 'READY'
}

/** The part of a schema about single arguments, without what concerns several, such as which are required. */
function propertiesOf(schema: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => !combining.has(keyword)))
}

const combining: ReadonlySet<string> = new Set([
  ...['required', 'minProperties', 'dependencies', 'dependentRequired', 'dependentSchemas', 'unevaluatedProperties'],
  ...['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', '$ref', '$dynamicRef'],
])

function told(problems: readonly SchemaProblem[]): string {
  return problems.map(({ path, message }) => `${path || 'arguments'} ${message}`).join('; ')
}

function listing(allowed: readonly string[]): string {
  return allowed.length === 0
    ? 'No tool may be called now: answer without one.'
    : `Tools that may be called now: ${allowed.join(', ')}.`
}

function fault(message: string): CallFault {
  return { message, stopsRun: false }
}

function pointer(name: string): string {
  return `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
}
