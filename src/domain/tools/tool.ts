import type { Json, JsonObject } from '../../util/json.ts'

/** The headers of a tool or an MCP server, by name. Their values are encrypted if the server has a key. */
export type SealedHeaders = Readonly<Record<string, string>>

/** A tool of any kind. What runs it depends on the kind. */
export type Tool = ToolBase & ToolImplementation

/**
 * What executes a tool. BUILTIN tools are the server's own and those defined in code. CLIENT tools are executed by the
 * client.
 */
export type ToolImplementation =
  | { readonly kind: 'BUILTIN' | 'CLIENT' }
  | { readonly kind: 'JAVASCRIPT'; readonly source: string }
  | {
      readonly kind: 'HTTP'
      readonly url: string
      /** Only the names may be shown. */
      readonly headers: SealedHeaders
    }
  | { readonly kind: 'MCP'; readonly mcpServerId: string; readonly mcpToolName: string }

export type ToolKind = ToolImplementation['kind']

export type ToolOfKind<Kind extends ToolKind> = ToolBase & Extract<ToolImplementation, { kind: Kind }>

export interface ToolBase {
  readonly id: string
  readonly tenantId: string
  readonly name: string
  readonly description: string
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
  /** False for a BUILTIN tool whose code is gone. No model is offered it. */
  readonly isAvailable: boolean
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** A tool as attached to one agent. */
export interface AgentTool {
  readonly id: string
  readonly agentId: string
  readonly tool: Tool
  readonly approvalOverride: boolean | null
}

export const toolDefaults = { returnCharLimit: 50_000, timeoutMs: 60_000 } as const
