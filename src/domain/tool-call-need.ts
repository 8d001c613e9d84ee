import { approvalPolicy, needsApproval } from './approval.ts'
import { faultOfCall, type CallInQuestion } from './call-check.ts'
import { findTool, type RunState } from './run-state.ts'
import type { ToolCallNeed } from './tool-call.ts'

/**
 * What a call waits for. A call that cannot run (no such tool, forbidden by the rules, arguments that do not match the
 * schema) is never offered to anyone: it needs nothing and returns an error.
 */
export function needOf(state: RunState, call: CallInQuestion): ToolCallNeed {
  if (faultOfCall(state, call)) return 'NOTHING'
  const agentTool = findTool(state, call.name)
  if (!agentTool || agentTool.tool.kind === 'CLIENT') return 'CLIENT_EXECUTION'
  if (state.run.approvedTools.includes(call.name)) return 'NOTHING'
  return needsApproval(approvalPolicy(agentTool, state.agent.toolRules), call.arguments) ? 'APPROVAL' : 'NOTHING'
}
