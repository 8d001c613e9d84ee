import { withDefaults } from '../../util/schema-defaults.ts'
import { approvalPolicy, needsApproval } from '../approvals/approval.ts'
import { faultOfCall, parametersOf, type CallInQuestion } from './call-check.ts'
import { findTool, type RunState } from '../runs/run-state.ts'
import type { AgentTool } from './tool.ts'
import type { ToolCallNeed } from './tool-call.ts'

/**
 * What a call waits for. A call that cannot run (no such tool, forbidden by the rules, arguments that do not match the
 * schema) is never offered to anyone: it waits for nothing and returns an error.
 */
export function needOf(state: RunState, call: CallInQuestion): ToolCallNeed {
  if (faultOfCall(state, call)) return 'NOTHING'
  const need = needOfTool(state, call.name)
  if (typeof need === 'string') return need
  // The condition is evaluated on the arguments that the tool will be called with.
  const args = withDefaults(need.tool.parameters, call.arguments) ?? call.arguments
  return needsApproval(approvalPolicy(need, state.agent.toolRules), args) ? 'APPROVAL' : 'NOTHING'
}

/** What a call of this tool waits for if it can run at all. The tool itself if that depends on the arguments. */
function needOfTool(state: RunState, name: string): ToolCallNeed | AgentTool {
  const agentTool = findTool(state, name)
  if (!agentTool || agentTool.tool.kind === 'CLIENT') return 'CLIENT_EXECUTION'
  if (state.run.approvedTools.includes(name)) return 'NOTHING'
  const { when } = approvalPolicy(agentTool, state.agent.toolRules)
  return when === 'CONDITION' ? agentTool : when === 'ALWAYS' ? 'APPROVAL' : 'NOTHING'
}

/** What a call will wait for, as readers see it while the model is still writing the arguments. */
export function announcedNeed(state: RunState, name: string): ToolCallNeed | null {
  const exists = parametersOf(state, name) !== undefined
  // Nothing waits in a background run. Such a call is denied.
  const need = exists && state.run.kind !== 'SLEEPTIME' ? needOfTool(state, name) : 'NOTHING'
  return typeof need === 'string' ? need : null
}
