import { checkSchema } from '../util/json-schema.ts'
import { faultOfCall, type CallInQuestion } from './call-check.ts'
import { findTool, type RunState } from './run-state.ts'
import type { ToolCallNeed } from './tool-call.ts'

/**
 * Whom a call waits for. A client tool of the request hides the server's tool of that name. A call that cannot run
 * (no such tool, against the rules, arguments that don't fit) is never offered to anyone: it needs nothing and returns
 * an error.
 */
export function needOf(state: RunState, call: CallInQuestion): ToolCallNeed {
  if (faultOfCall(state, call)) return 'NOTHING'
  const agentTool = findTool(state, call.name)
  const isClientTool = state.run.request.clientTools.some((tool) => tool.name === call.name)
  if (isClientTool || !agentTool || agentTool.tool.kind === 'CLIENT') return 'CLIENT_EXECUTION'
  if (state.run.approvedTools.includes(call.name)) return 'NOTHING'
  const ruled = state.agent.toolRules.some((rule) => rule.kind === 'REQUIRES_APPROVAL' && rule.tool === call.name)
  if (ruled) return 'APPROVAL'
  const { tool, approvalOverride } = agentTool
  if (approvalOverride !== null) return approvalOverride ? 'APPROVAL' : 'NOTHING'
  if (!tool.requiresApproval) return 'NOTHING'
  const meetsCondition =
    tool.approvalCondition === null || checkSchema(tool.approvalCondition, call.arguments).length === 0
  return meetsCondition ? 'APPROVAL' : 'NOTHING'
}
