import { compileSchema } from '../util/json-schema.ts'
import { storableJson, storableText, type JsonObject } from '../util/json.ts'
import type { McpServer } from './mcp-server.ts'
import type { ListedTool } from './tool-access.ts'
import { unsetTool } from './tool-input.ts'
import type { Tool } from './tool.ts'

/** What an MCP server says of one of its tools, as it is kept. All else about the tool is the tenant's to set. */
export function settingsOfListed({ description, parameters }: ListedTool): Pick<Tool, 'description' | 'parameters'> {
  return { description: storableText(description).slice(0, 10_000), parameters: usableSchema(parameters) }
}

export function newMcpTool(
  server: McpServer,
  listed: ListedTool,
  given: { id: string; name: string; now: Date },
): Tool {
  return {
    ...unsetTool,
    ...settingsOfListed(listed),
    id: given.id,
    tenantId: server.tenantId,
    name: given.name,
    kind: 'MCP',
    mcpServerId: server.id,
    mcpToolName: storableText(listed.name),
    createdAt: given.now,
    updatedAt: given.now,
  }
}

/**
 * The names that a tool may get here, the one to be tried first at the front: its own, and where another tool has that,
 * its own behind the server's. What tool names here don't allow becomes an underscore.
 */
export function namesForMcpTool(server: Pick<McpServer, 'name'>, tool: Pick<ListedTool, 'name'>): string[] {
  const own = usableName(tool.name)
  const prefixed = usableName(`${server.name}_${tool.name}`)
  const numbered = Array.from({ length: 20 }, (_, index) => `${prefixed.slice(0, 60)}_${index + 2}`)
  return [own, prefixed, ...numbered]
}

function usableName(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || '_'
}

/** The server checks the arguments too: where its schema is none, anything is passed on. */
function usableSchema(schema: JsonObject): JsonObject {
  const stored = storableJson(schema)
  return stored.type === 'object' && compileSchema(stored).ok ? stored : { type: 'object' }
}
