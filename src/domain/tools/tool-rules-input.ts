import { canonicalJson } from '../../util/json.ts'
import { badUserInput } from '../errors.ts'
import { checkedCount } from '../input.ts'
import { conflictProblems } from './tool-rule-conflicts.ts'
import { shapeProblems, toToolRule, type ToolRuleInput } from './tool-rule-shape.ts'
import { toolsNamedBy, unknownToolProblems, type RuleProblem, type ToolRule } from './tool-rules.ts'

/** The rules to store. Whether the agent has the tools that they name is checked once its tools are known. */
export function checkedToolRules(field: string, inputs: readonly ToolRuleInput[]): ToolRule[] {
  checkedCount(field, inputs, { max: 200 })
  for (const [index, input] of inputs.entries()) refuse(`${field}.${index}`, shapeProblems(input))
  const rules = inputs.map(toToolRule)
  refuse(field, conflictProblems(rules))

  const seen = new Set<string>()
  for (const [index, rule] of rules.entries()) {
    const text = canonicalJson(rule)
    if (seen.has(text)) throw badUserInput(`${field}.${index}`, 'The same rule is given twice. Remove one of them.')
    seen.add(text)
  }
  return rules
}

/** Checks rules that are being set. */
export function checkToolsOfRules(field: string, rules: readonly ToolRule[], toolNames: Iterable<string>): void {
  refuse(field, unknownToolProblems(rules, toolNames))
}

/** Checks tools that are being removed. `field` is the input that removes them. */
export function checkToolsLeftToRules(field: string, rules: readonly ToolRule[], toolNames: Iterable<string>): void {
  const left = new Set(toolNames)
  const lost = rules.flatMap(toolsNamedBy).find(({ tool }) => !left.has(tool))
  if (lost)
    throw badUserInput(
      field,
      `The agent's tool rules name ${lost.tool}, which it would no longer have. Change toolRules with updateAgent first, or both at once.`,
    )
}

function refuse(field: string, [problem]: readonly RuleProblem[]): void {
  if (problem) throw badUserInput(`${field}.${problem.path}`, problem.message)
}
