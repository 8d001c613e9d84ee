import { checkSchema } from '../util/json-schema.ts'
import { isJsonObject, type Json } from '../util/json.ts'
import type { ClientTool } from './run.ts'
import type { ToolCallNeed } from './tool-call.ts'
import type { ToolRule } from './tool-rules.ts'
import type { AgentTool } from './tool.ts'

export interface CallInQuestion {
  readonly name: string
  readonly arguments: Json
  /** Undefined where the agent has no such tool. */
  readonly agentTool: AgentTool | undefined
  readonly rules: readonly ToolRule[]
  readonly clientTools: readonly ClientTool[]
  /** Tools that a person approved for the rest of the run. */
  readonly approvedTools: readonly string[]
}

/**
 * Whom a call waits for. A client tool of the request hides the server's tool of that name. A call that cannot run
 * (no such tool, arguments that don't fit) is never offered to anyone: it needs nothing and returns an error.
 */
export function needOfCall(call: CallInQuestion): ToolCallNeed {
  const clientTool = call.clientTools.find((tool) => tool.name === call.name)
  const parameters = clientTool?.parameters ?? call.agentTool?.tool.parameters
  if (!parameters || !isJsonObject(call.arguments) || checkSchema(parameters, call.arguments).length > 0)
    return 'NOTHING'
  if (clientTool || call.agentTool?.tool.kind === 'CLIENT') return 'CLIENT_EXECUTION'
  if (call.approvedTools.includes(call.name)) return 'NOTHING'
  if (call.rules.some((rule) => rule.kind === 'REQUIRES_APPROVAL' && rule.tool === call.name)) return 'APPROVAL'
  const { tool, approvalOverride } = call.agentTool!
  if (approvalOverride !== null) return approvalOverride ? 'APPROVAL' : 'NOTHING'
  if (!tool.requiresApproval) return 'NOTHING'
  const meetsCondition =
    tool.approvalCondition === null || checkSchema(tool.approvalCondition, call.arguments).length === 0
  return meetsCondition ? 'APPROVAL' : 'NOTHING'
}
