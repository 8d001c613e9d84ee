import { isJsonObject, type Json } from '../../util/json.ts'
import type { Given } from '../input.ts'
import type { RuleProblem, ToolRule, ToolRuleKind } from './tool-rules.ts'

/** A rule from a client, which may combine any fields with any kind. */
export interface ToolRuleInput {
  readonly kind: ToolRuleKind
  readonly tool: string
  readonly children?: Given<readonly string[]>
  readonly maxCalls?: Given<number>
  readonly outputMapping?: Given<Json>
  readonly defaultChild?: Given<string>
  readonly requireMapping?: Given<boolean>
  readonly prefilledArguments?: Given<Json>
}

type RuleField = Exclude<keyof ToolRuleInput, 'kind' | 'tool'>
const ruleFields: readonly RuleField[] = [
  'children',
  'maxCalls',
  'outputMapping',
  'defaultChild',
  'requireMapping',
  'prefilledArguments',
]

/** Which fields a rule of each kind must have, and which it may have, besides `kind` and `tool`. */
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

/** What is wrong with a single rule. Paths start at the rule: `children`. */
export function shapeProblems(rule: ToolRuleInput): RuleProblem[] {
  const { must, may } = fieldsOfKind[rule.kind]
  const problems = ruleFields.flatMap((field): RuleProblem[] => {
    const isGiven = (rule[field] ?? null) !== null
    if (must.includes(field) && !isGiven)
      return [{ path: field, message: `It is missing. A rule of kind ${rule.kind} needs it.` }]
    if (isGiven && !must.includes(field) && !may.includes(field))
      return [{ path: field, message: `A rule of kind ${rule.kind} has no such field. Omit it.` }]
    return []
  })
  return problems.length > 0 ? problems : valueProblems(rule)
}

function valueProblems({ kind, children, maxCalls, outputMapping, prefilledArguments }: ToolRuleInput): RuleProblem[] {
  const problems: RuleProblem[] = []
  if (children?.length === 0) problems.push({ path: 'children', message: 'It is empty. Name at least one tool.' })
  if (children && new Set(children).size < children.length)
    problems.push({ path: 'children', message: 'It names a tool twice. Name each tool once.' })
  if ((maxCalls ?? 1) < 1)
    problems.push({ path: 'maxCalls', message: `${maxCalls} is too small. The smallest number is 1.` })
  if (kind === 'CONDITIONAL' && !isMapping(outputMapping ?? null))
    problems.push({
      path: 'outputMapping',
      message: 'Expected a JSON object with at least one entry: output value → name of a tool.',
    })
  if ((prefilledArguments ?? null) !== null && !isJsonObject(prefilledArguments!))
    problems.push({ path: 'prefilledArguments', message: 'Expected a JSON object: argument → value.' })
  return problems
}

function isMapping(value: Json): value is Record<string, string> {
  if (!isJsonObject(value)) return false
  const tools = Object.values(value)
  return tools.length > 0 && tools.every((tool) => typeof tool === 'string')
}

const fieldDefaults = { defaultChild: null, requireMapping: false, prefilledArguments: null }

/** The rule for an input in which `shapeProblems` found nothing: exactly the fields of its kind. */
export function toToolRule(input: ToolRuleInput): ToolRule {
  const { kind, tool } = input
  const { must, may } = fieldsOfKind[kind]
  const given = {
    ...fieldDefaults,
    ...Object.fromEntries(Object.entries(input).filter(([, value]) => (value ?? null) !== null)),
  }
  return {
    kind,
    tool,
    ...Object.fromEntries([...must, ...may].map((name) => [name, given[name as never]])),
  } as ToolRule
}
