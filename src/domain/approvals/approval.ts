import { matchesSchema } from '../../util/json-schema.ts'
import type { Json } from '../../util/json.ts'
import type { ToolCall } from '../tools/tool-call.ts'
import type { ToolRule } from '../tools/tool-rules.ts'
import type { AgentTool } from '../tools/tool.ts'

/** When calls of one of an agent's tools need approval. */
export type ApprovalPolicy =
  | { readonly when: 'ALWAYS' }
  | { readonly when: 'NEVER' }
  /** Approval is needed if the arguments satisfy the condition, a JSON Schema. */
  | { readonly when: 'CONDITION'; readonly condition: Json }

/**
 * The only place that decides this, in this order: a REQUIRES_APPROVAL rule, the agent's own setting for the tool, the
 * tool's condition, the tool's `requiresApproval`. docs/tools.md has the table of all combinations.
 */
export function approvalPolicy(
  { tool, approvalOverride }: Pick<AgentTool, 'tool' | 'approvalOverride'>,
  rules: readonly ToolRule[],
): ApprovalPolicy {
  if (rules.some((rule) => rule.kind === 'REQUIRES_APPROVAL' && rule.tool === tool.name)) return { when: 'ALWAYS' }
  if (approvalOverride !== null) return { when: approvalOverride ? 'ALWAYS' : 'NEVER' }
  if (tool.approvalCondition !== null) return { when: 'CONDITION', condition: tool.approvalCondition }
  return { when: tool.requiresApproval ? 'ALWAYS' : 'NEVER' }
}

/** Whether some arguments can make a call need approval. */
export function mayNeedApproval(policy: ApprovalPolicy): boolean {
  return policy.when !== 'NEVER'
}

export function needsApproval(policy: ApprovalPolicy, args: Json): boolean {
  if (policy.when !== 'CONDITION') return policy.when === 'ALWAYS'
  // A condition that cannot be evaluated counts as satisfied, so that a person decides.
  return matchesSchema(policy.condition, args) ?? true
}

export const runWaits = ['APPROVAL', 'CLIENT_RESULT', 'BUDGET'] as const
export type RunWait = (typeof runWaits)[number]

/** What a run waits for, given its waiting calls. */
export function waitsOf(pending: readonly Pick<ToolCall, 'needs'>[]): RunWait[] {
  const needs = new Set<RunWait>(
    pending.map((call) => (call.needs === 'CLIENT_EXECUTION' ? 'CLIENT_RESULT' : 'APPROVAL')),
  )
  return runWaits.filter((wait) => needs.has(wait))
}
