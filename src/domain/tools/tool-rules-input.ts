import { canonicalJson, isJsonObject, keysOf, type Json, type JsonObject } from '../../util/json.ts'
import { badUserInput } from '../errors.ts'
import { checkedCount, type Given } from '../input.ts'
import { conflictProblems } from './tool-rule-conflicts.ts'
import { toolsNamedBy, type ToolRule, type ToolRuleKind } from './tool-rules.ts'

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

/** The kinds of rules that have each field. */
const kindsWith: Readonly<Record<RuleField, readonly ToolRuleKind[]>> = {
  children: ['CHILDREN', 'PARENT'],
  maxCalls: ['MAX_CALLS'],
  outputMapping: ['CONDITIONAL'],
  defaultChild: ['CONDITIONAL'],
  requireMapping: ['CONDITIONAL'],
  prefilledArguments: ['RUN_FIRST', 'CHILDREN', 'PARENT', 'CONDITIONAL'],
}

/** The rules to store. Whether the agent has the tools that they name is checked once its tools are known. */
export function checkedToolRules(field: string, inputs: readonly ToolRuleInput[]): ToolRule[] {
  checkedCount(field, inputs, { max: 200 })
  const rules = inputs.map((input, index) => checkedToolRule(`${field}.${index}`, input))
  const [conflict] = conflictProblems(rules)
  if (conflict) throw badUserInput(`${field}.${conflict.path}`, conflict.message)

  const seen = new Set<string>()
  for (const [index, rule] of rules.entries()) {
    const text = canonicalJson(rule)
    if (seen.has(text)) throw badUserInput(`${field}.${index}`, 'The same rule is given twice. Remove one of them.')
    seen.add(text)
  }
  return rules
}

/** The rule with exactly the fields of its kind. */
export function checkedToolRule(field: string, input: ToolRuleInput): ToolRule {
  const { kind, tool, defaultChild = null, requireMapping } = input
  for (const name of keysOf(kindsWith)) {
    if (kindsWith[name].includes(kind) || (input[name] ?? null) === null) continue
    throw badUserInput(`${field}.${name}`, `A rule of kind ${kind} has no such field. Omit it.`)
  }
  const needed = <Name extends RuleField>(name: Name): NonNullable<ToolRuleInput[Name]> => {
    const value = input[name] ?? undefined
    if (value !== undefined) return value
    throw badUserInput(`${field}.${name}`, `It is missing. A rule of kind ${kind} needs it.`)
  }
  const prefilled = () => checkedArguments(`${field}.prefilledArguments`, input.prefilledArguments ?? null)
  switch (kind) {
    case 'RUN_FIRST':
      return { kind, tool, prefilledArguments: prefilled() }
    case 'CHILDREN':
    case 'PARENT': {
      const children = checkedChildren(`${field}.children`, needed('children'))
      return { kind, tool, children, prefilledArguments: prefilled() }
    }
    case 'CONDITIONAL': {
      const outputMapping = checkedMapping(`${field}.outputMapping`, needed('outputMapping'))
      const otherwise = { defaultChild, requireMapping: requireMapping ?? false }
      return { kind, tool, outputMapping, ...otherwise, prefilledArguments: prefilled() }
    }
    case 'MAX_CALLS': {
      const maxCalls = needed('maxCalls')
      if (maxCalls >= 1) return { kind, tool, maxCalls }
      throw badUserInput(`${field}.maxCalls`, `${maxCalls} is too small. The smallest number is 1.`)
    }
    default:
      return { kind, tool }
  }
}

function checkedChildren(field: string, children: readonly string[]): readonly string[] {
  if (children.length === 0) throw badUserInput(field, 'It is empty. Name at least one tool.')
  if (new Set(children).size === children.length) return children
  throw badUserInput(field, 'It names a tool twice. Name each tool once.')
}

function checkedMapping(field: string, value: Json): Readonly<Record<string, string>> {
  const entries = isJsonObject(value) ? Object.entries(value) : []
  const texts = entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  if (entries.length > 0 && texts.length === entries.length) return Object.fromEntries(texts)
  throw badUserInput(field, 'Expected a JSON object with at least one entry: output value → name of a tool.')
}

function checkedArguments(field: string, value: Json): JsonObject | null {
  if (value === null || isJsonObject(value)) return value
  throw badUserInput(field, 'Expected a JSON object: argument → value.')
}

/** Checks rules that are being set. They may name only tools that the agent has. */
export function checkToolsOfRules(field: string, rules: readonly ToolRule[], toolNames: Iterable<string>): void {
  const known = new Set(toolNames)
  for (const [index, rule] of rules.entries()) {
    const unknown = toolsNamedBy(rule).find(({ tool }) => !known.has(tool))
    if (!unknown) continue
    const takes = known.size === 0 ? 'The agent has no tools' : `Expected one of: ${[...known].join(', ')}`
    const message = `The agent has no tool named ${JSON.stringify(unknown.tool)}. ${takes}.`
    throw badUserInput(`${field}.${index}.${unknown.path}`, message)
  }
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
