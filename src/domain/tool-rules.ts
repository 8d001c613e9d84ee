import { isJsonObject, type Json, type JsonObject } from '../util/json.ts'

export const toolRuleKinds = [
  'RUN_FIRST',
  'CHILDREN',
  'PARENT',
  'CONDITIONAL',
  'CONTINUE',
  'TERMINAL',
  'MAX_CALLS',
  'REQUIRED_BEFORE_EXIT',
  'REQUIRES_APPROVAL',
] as const
export type ToolRuleKind = (typeof toolRuleKinds)[number]

/** A constraint on which tools may be called when. What its kind has no use for is null. */
export interface ToolRule {
  readonly kind: ToolRuleKind
  readonly tool: string
  readonly children: readonly string[] | null
  readonly maxCalls: number | null
  readonly outputMapping: Json
  readonly defaultChild: string | null
  readonly requireMapping: boolean | null
  readonly prefilledArguments: JsonObject | null
}

/** Which fields a rule of each kind must have, and which it may have, beside `kind` and `tool`. */
const fieldsOfKind: Readonly<Record<ToolRuleKind, { must: readonly RuleField[]; may: readonly RuleField[] }>> = {
  RUN_FIRST: { must: [], may: ['prefilledArguments'] },
  CHILDREN: { must: ['children'], may: ['prefilledArguments'] },
  PARENT: { must: ['children'], may: ['prefilledArguments'] },
  CONDITIONAL: { must: ['outputMapping'], may: ['defaultChild', 'requireMapping', 'prefilledArguments'] },
  CONTINUE: { must: [], may: [] },
  TERMINAL: { must: [], may: [] },
  MAX_CALLS: { must: ['maxCalls'], may: [] },
  REQUIRED_BEFORE_EXIT: { must: [], may: [] },
  REQUIRES_APPROVAL: { must: [], may: [] },
}

type RuleField = Exclude<keyof ToolRule, 'kind' | 'tool'>
const ruleFields: readonly RuleField[] = [
  'children',
  'maxCalls',
  'outputMapping',
  'defaultChild',
  'requireMapping',
  'prefilledArguments',
]

export interface RuleProblem {
  /** The path of what is at fault, from the list of rules on: `0.children`. */
  readonly path: string
  readonly message: string
}

/**
 * What is wrong with the shape of rules: exactly the fields of its kind are set. What rules make of each other is not
 * looked for here.
 */
export function shapeProblems(rules: readonly ToolRule[]): RuleProblem[] {
  return rules.flatMap((rule, index) =>
    problemsOfShape(rule).map(({ path, message }) => ({ path: `${index}.${path}`, message })),
  )
}

function problemsOfShape(rule: ToolRule): RuleProblem[] {
  const { must, may } = fieldsOfKind[rule.kind]
  const problems: RuleProblem[] = []
  for (const field of ruleFields) {
    const given = rule[field] !== null
    if (must.includes(field) && !given)
      problems.push({ path: field, message: `It is missing. A rule of kind ${rule.kind} takes it.` })
    if (given && !must.includes(field) && !may.includes(field))
      problems.push({ path: field, message: `A rule of kind ${rule.kind} has no use for it. Leave it out.` })
  }
  return problems.length > 0 ? problems : problemsOfValues(rule)
}

function problemsOfValues(rule: ToolRule): RuleProblem[] {
  const problems: RuleProblem[] = []
  if (rule.children?.length === 0)
    problems.push({ path: 'children', message: 'It is empty. It takes one tool at the least.' })
  if (rule.children && new Set(rule.children).size < rule.children.length)
    problems.push({ path: 'children', message: 'It names a tool twice. It takes each once.' })
  if (rule.maxCalls !== null && rule.maxCalls < 1)
    problems.push({ path: 'maxCalls', message: `${rule.maxCalls} is too few. It takes a number from 1.` })
  if (rule.kind === 'CONDITIONAL' && mappedTools(rule) === undefined)
    problems.push({
      path: 'outputMapping',
      message: 'It takes a JSON object with one entry at the least: output value → name of a tool.',
    })
  if (rule.prefilledArguments !== null && !isJsonObject(rule.prefilledArguments))
    problems.push({ path: 'prefilledArguments', message: 'It takes a JSON object: argument → value.' })
  return problems
}

function mappedTools(rule: ToolRule): string[] | undefined {
  if (!isJsonObject(rule.outputMapping)) return undefined
  const tools = Object.values(rule.outputMapping)
  return tools.length > 0 && tools.every((tool) => typeof tool === 'string') ? tools : undefined
}

/** Rules may name only tools that the agent has. */
export function unknownToolProblems(rules: readonly ToolRule[], toolNames: Iterable<string>): RuleProblem[] {
  const known = new Set(toolNames)
  const takes = known.size === 0 ? 'The agent has no tools' : `It takes one of: ${[...known].join(', ')}`
  return rules.flatMap((rule, index) =>
    toolsNamedBy(rule)
      .filter(({ tool }) => !known.has(tool))
      .map(({ path, tool }) => ({
        path: `${index}.${path}`,
        message: `The agent has no tool named ${JSON.stringify(tool)}. ${takes}.`,
      })),
  )
}

/** Every tool that a rule names, with the field that names it. */
export function toolsNamedBy(rule: ToolRule): { path: string; tool: string }[] {
  return [
    { path: 'tool', tool: rule.tool },
    ...(rule.children ?? []).map((tool, index) => ({ path: `children.${index}`, tool })),
    ...(mappedTools(rule) ?? []).map((tool) => ({ path: 'outputMapping', tool })),
    ...(rule.defaultChild === null ? [] : [{ path: 'defaultChild', tool: rule.defaultChild }]),
  ]
}
