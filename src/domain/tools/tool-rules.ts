import type { JsonObject } from '../../util/json.ts'

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

/** A constraint on which tools may be called when. Each kind has exactly the fields that it needs. */
export type ToolRule = FirstRule | NeighbourRule | ConditionalRule | MaxCallsRule | PlainRule

interface FirstRule extends Prefilling {
  readonly kind: 'RUN_FIRST'
  readonly tool: string
}

interface NeighbourRule extends Prefilling {
  readonly kind: 'CHILDREN' | 'PARENT'
  readonly tool: string
  readonly children: readonly string[]
}

export interface ConditionalRule extends Prefilling {
  readonly kind: 'CONDITIONAL'
  readonly tool: string
  /** Maps an output of `tool` to the name of the tool that follows. */
  readonly outputMapping: Readonly<Record<string, string>>
  /** The tool that follows an output that is not mapped. Null means any tool. */
  readonly defaultChild: string | null
  /** Whether nothing may follow an output that is not mapped. */
  readonly requireMapping: boolean
}

interface MaxCallsRule {
  readonly kind: 'MAX_CALLS'
  readonly tool: string
  readonly maxCalls: number
}

interface PlainRule {
  readonly kind: 'CONTINUE' | 'TERMINAL' | 'REQUIRED_BEFORE_EXIT' | 'REQUIRES_APPROVAL'
  readonly tool: string
}

/** Arguments that replace the model's, for the tool that the rule allows. */
interface Prefilling {
  readonly prefilledArguments: JsonObject | null
}

/** Every tool that a rule names, with the field that names it. */
export function toolsNamedBy(rule: ToolRule): { path: string; tool: string }[] {
  const named = [{ path: 'tool', tool: rule.tool }]
  if ('children' in rule) named.push(...rule.children.map((tool, index) => ({ path: `children.${index}`, tool })))
  if (rule.kind === 'CONDITIONAL') {
    named.push(...Object.values(rule.outputMapping).map((tool) => ({ path: 'outputMapping', tool })))
    if (rule.defaultChild !== null) named.push({ path: 'defaultChild', tool: rule.defaultChild })
  }
  return named
}
