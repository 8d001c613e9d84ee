import type { Json, JsonObject } from '../util/json.ts'

export const toolKinds = ['BUILTIN', 'JAVASCRIPT', 'HTTP', 'MCP', 'CLIENT'] as const
export type ToolKind = (typeof toolKinds)[number]

export interface Tool {
  readonly id: string
  readonly tenantId: string
  readonly name: string
  readonly description: string
  readonly kind: ToolKind
  /** JSON Schema of the arguments. */
  readonly parameters: JsonObject
  readonly requiresApproval: boolean
  readonly approvalCondition: Json
  readonly approvalsRequired: number
  readonly approvalExcludesSender: boolean
  readonly approvalTimeoutMs: number | null
  readonly parallel: boolean
  readonly idempotent: boolean
  readonly returnCharLimit: number
  readonly timeoutMs: number
  readonly tags: readonly string[]
  readonly source: string | null
  readonly url: string | null
  /** Secret: only the names may be shown. */
  readonly headers: Readonly<Record<string, string>> | null
  readonly mcpServerId: string | null
  readonly mcpToolName: string | null
  /** False for a BUILTIN tool whose code is gone: no model is offered it. */
  readonly isAvailable: boolean
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** A tool as one agent has it. */
export interface AgentTool {
  readonly id: string
  readonly agentId: string
  readonly tool: Tool
  readonly approvalOverride: boolean | null
}

export const toolDefaults = { returnCharLimit: 50_000, timeoutMs: 60_000 } as const
