import { canonicalJson, type Json, type JsonObject } from '../util/json.ts'
import { badUserInput } from './errors.ts'
import { checkedCount, type Given } from './input.ts'
import { conflictProblems } from './tool-rule-conflicts.ts'
import { shapeProblems, toolsNamedBy, unknownToolProblems, type ToolRule, type ToolRuleKind } from './tool-rules.ts'

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

/** The rules as they are stored. Which tools they may name is asked once the agent's tools are known. */
export function checkedToolRules(field: string, inputs: readonly ToolRuleInput[]): ToolRule[] {
  checkedCount(field, inputs, { max: 200 })
  const rules = inputs.map(toToolRule)
  const [problem] = [...shapeProblems(rules), ...conflictProblems(rules)]
  if (problem) throw badUserInput(`${field}.${problem.path}`, problem.message)

  const seen = new Set<string>()
  for (const [index, rule] of rules.entries()) {
    const text = canonicalJson(rule as unknown as Json)
    if (seen.has(text)) throw badUserInput(`${field}.${index}`, 'The same rule is given twice. It takes each once.')
    seen.add(text)
  }
  return rules
}

/** Of rules that are being set. */
export function checkToolsOfRules(field: string, rules: readonly ToolRule[], toolNames: Iterable<string>): void {
  const [problem] = unknownToolProblems(rules, toolNames)
  if (problem) throw badUserInput(`${field}.${problem.path}`, problem.message)
}

/** Of tools that are being taken away: `field` is what takes them. */
export function checkToolsLeftToRules(field: string, rules: readonly ToolRule[], toolNames: Iterable<string>): void {
  const left = new Set(toolNames)
  const lost = rules.flatMap(toolsNamedBy).find(({ tool }) => !left.has(tool))
  if (lost)
    throw badUserInput(
      field,
      `The agent's tool rules name ${lost.tool}, which it would no longer have. Change toolRules with updateAgent first, or both at once.`,
    )
}

function toToolRule(input: ToolRuleInput): ToolRule {
  return {
    kind: input.kind,
    tool: input.tool,
    children: input.children ?? null,
    maxCalls: input.maxCalls ?? null,
    outputMapping: input.outputMapping ?? null,
    defaultChild: input.defaultChild ?? null,
    requireMapping: input.requireMapping ?? (input.kind === 'CONDITIONAL' ? false : null),
    // Its shape is looked at with the rest of the rule.
    prefilledArguments: (input.prefilledArguments ?? null) as JsonObject | null,
  }
}
