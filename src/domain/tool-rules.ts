import type { Json, JsonObject } from '../util/json.ts'

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
