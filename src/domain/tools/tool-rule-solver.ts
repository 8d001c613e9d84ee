import { canonicalJson, type JsonObject } from '../../util/json.ts'
import type { ConditionalRule, ToolRule } from './tool-rules.ts'

/** A call that actually ran, with whatever result. */
export interface PastCall {
  readonly name: string
  readonly output: string
}

/** What one rule, or all RUN_FIRST rules together, say about the next call. */
interface Constraint {
  readonly allows: (tool: string) => boolean
  /** Whether the model must make a call now, or only which calls it may make. */
  readonly forces: boolean
}

/**
 * The tools that may be called next: those that every rule allows. An empty list means none, never all. `history` has
 * the run's calls in order; `underWay` names calls that will run, of which only the number matters so far.
 */
export function allowedTools(
  rules: readonly ToolRule[],
  history: readonly PastCall[],
  tools: readonly string[],
  underWay: readonly string[] = [],
): string[] {
  const constraints = constraintsOf(rules, history, underWay)
  return tools.filter((tool) => constraints.every((constraint) => constraint.allows(tool)))
}

/** Whether what the rules allow depends on earlier calls. */
export function looksAtHistory(rules: readonly ToolRule[]): boolean {
  return rules.some((rule) => rule.kind !== 'REQUIRES_APPROVAL')
}

/** Whether a rule requires a tool call now. */
export function forcesCall(rules: readonly ToolRule[], history: readonly PastCall[]): boolean {
  return constraintsOf(rules, history, []).some((constraint) => constraint.forces)
}

/** Required tools that have not been called yet. */
export function uncalledTools(rules: readonly ToolRule[], history: readonly PastCall[]): string[] {
  const required = rules.filter((rule) => rule.kind === 'REQUIRED_BEFORE_EXIT').map((rule) => rule.tool)
  return [...new Set(required)].filter((tool) => !history.some((call) => call.name === tool))
}

/**
 * The arguments that rules fix for a call of `tool` made now. If two rules fix the same argument, the later one wins.
 */
export function prefilledArguments(
  rules: readonly ToolRule[],
  history: readonly PastCall[],
  tool: string,
): JsonObject | undefined {
  const given = rules.flatMap((rule) =>
    'prefilledArguments' in rule && prefills(rule, history, tool) ? (rule.prefilledArguments ?? []) : [],
  )
  return given.length === 0 ? undefined : Object.assign({}, ...given)
}

function constraintsOf(
  rules: readonly ToolRule[],
  history: readonly PastCall[],
  underWay: readonly string[],
): Constraint[] {
  const first = rules.filter((rule) => rule.kind === 'RUN_FIRST').map((rule) => rule.tool)
  return [
    // Several tools cannot all be first, so any one of them may be.
    ...(first.length > 0 && history.length === 0 ? [oneOf(first)] : []),
    ...rules.flatMap((rule) => constraintOf(rule, history, underWay) ?? []),
  ]
}

function constraintOf(
  rule: ToolRule,
  history: readonly PastCall[],
  underWay: readonly string[],
): Constraint | undefined {
  const last = history.at(-1)
  switch (rule.kind) {
    case 'CHILDREN':
      return last?.name === rule.tool ? oneOf(rule.children) : undefined
    case 'PARENT':
      return last?.name === rule.tool ? undefined : noneOf(rule.children)
    case 'CONDITIONAL': {
      if (last?.name !== rule.tool) return undefined
      const child = childFor(rule, last.output)
      return child === 'any' ? undefined : oneOf(child === 'none' ? [] : [child.tool])
    }
    case 'MAX_CALLS': {
      const calls = [...history.map((call) => call.name), ...underWay].filter((name) => name === rule.tool)
      return calls.length >= rule.maxCalls ? noneOf([rule.tool]) : undefined
    }
    case 'RUN_FIRST':
    case 'CONTINUE':
    case 'TERMINAL':
    case 'REQUIRED_BEFORE_EXIT':
    case 'REQUIRES_APPROVAL':
      return undefined
    default:
      return rule satisfies never
  }
}

function oneOf(tools: readonly string[]): Constraint {
  return { allows: (tool) => tools.includes(tool), forces: true }
}

function noneOf(tools: readonly string[]): Constraint {
  return { allows: (tool) => !tools.includes(tool), forces: false }
}

function prefills(rule: ToolRule, history: readonly PastCall[], tool: string): boolean {
  const last = history.at(-1)
  switch (rule.kind) {
    case 'RUN_FIRST':
      return history.length === 0 && rule.tool === tool
    case 'CHILDREN':
    case 'PARENT':
      return last?.name === rule.tool && rule.children.includes(tool)
    case 'CONDITIONAL': {
      const child = last?.name === rule.tool ? childFor(rule, last.output) : 'none'
      return typeof child === 'object' && child.tool === tool
    }
    default:
      return false
  }
}

/** The tool that a CONDITIONAL rule makes follow after its tool returned `output`. */
function childFor(rule: ConditionalRule, output: string): { readonly tool: string } | 'any' | 'none' {
  const entries = Object.entries(rule.outputMapping)
  const value = comparable(output)
  const match = entries.find(([key]) => key === output) ?? entries.find(([key]) => comparable(key) === value)
  if (match) return { tool: match[1] }
  if (rule.requireMapping) return 'none'
  return rule.defaultChild === null ? 'any' : { tool: rule.defaultChild }
}

/**
 * Makes equal values equal texts: 5 and 5.0, true and True, JSON in any order of keys, a string with and without
 * quotes.
 */
function comparable(text: string): string {
  const trimmed = text.trim()
  try {
    return canonicalJson(JSON.parse(/^(true|false)$/i.test(trimmed) ? trimmed.toLowerCase() : trimmed))
  } catch {
    return canonicalJson(trimmed)
  }
}
