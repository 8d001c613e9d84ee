import type { JsonObject } from '../../util/json.ts'
import type { McpServer } from './mcp-server.ts'

/** A tool as a Model Context Protocol server lists it. */
export interface ListedTool {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
}

/** What commands need from the tools room, which they must not import. */
export interface ToolAccess {
  /** What is wrong with the source of a JAVASCRIPT tool. Undefined if it can be called. */
  faultOfJavaScript(source: string, tenantId: string): Promise<string | undefined>
  /** Why a tool at this address could not be called. Undefined if it can be, as far as can be told now. */
  faultOfAddress(url: string): Promise<string | undefined>
  /** Connects and lists the tools. Throws an error that is meant for whoever added the server. */
  listMcpTools(server: Pick<McpServer, 'name' | 'url' | 'headers' | 'tenantId' | 'configured'>): Promise<ListedTool[]>
}
