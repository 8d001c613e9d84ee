import type { JsonObject } from '../util/json.ts'
import type { McpServer } from './mcp-server.ts'

/** A tool as a Model Context Protocol server lists it. */
export interface ListedTool {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
}

/** What commands ask of the room that runs tools, which they don't see. */
export interface ToolAccess {
  /** What is wrong with the source of a JAVASCRIPT tool; undefined where it can be called. */
  faultOfJavaScript(source: string, tenantId: string): Promise<string | undefined>
  /** Connects and asks; throws why that did not work, in words for whoever added the server. */
  listMcpTools(server: Pick<McpServer, 'name' | 'url' | 'headers' | 'tenantId' | 'configured'>): Promise<ListedTool[]>
}
