import type { ToolRule } from './tool-rules.ts'
import type { AgentTool } from './tool.ts'

/** What holds in effect: a rule says yes; else the agent's own setting; else the tool's default. */
export function requiresApproval(
  agentTool: Pick<AgentTool, 'tool' | 'approvalOverride'>,
  rules: readonly ToolRule[],
): boolean {
  const byRule = rules.some((rule) => rule.kind === 'REQUIRES_APPROVAL' && rule.tool === agentTool.tool.name)
  return byRule || (agentTool.approvalOverride ?? agentTool.tool.requiresApproval)
}
