import { faultOfSchema } from '../../util/json-schema.ts'
import { cutText, storableJson, storableText, type JsonObject } from '../../util/json.ts'
import type { McpServer } from './mcp-server.ts'
import type { ListedTool } from './tool-access.ts'
import { unsetTool } from './tool-input.ts'
import type { Tool } from './tool.ts'

const maxDescription = 10_000
const maxSchema = 256 * 1024

/** The settings of a tool that its MCP server decides, as they can be stored. The tenant sets everything else. */
export function settingsOfListed({ description, parameters }: ListedTool): Pick<Tool, 'description' | 'parameters'> {
  const text = storableText(description)
  const cut = text.length > maxDescription ? `${cutText(text, maxDescription)} …` : text
  return { description: cut, parameters: usableSchema(parameters) }
}

export function newMcpTool(
  server: McpServer,
  listed: ListedTool,
  given: { id: string; name: string; now: Date },
): Tool {
  return {
    ...unsetTool,
    description: listed.description,
    parameters: listed.parameters,
    id: given.id,
    tenantId: server.tenantId,
    name: given.name,
    kind: 'MCP',
    requiresApproval: server.requiresApproval,
    mcpServerId: server.id,
    mcpToolName: listed.name,
    createdAt: given.now,
    updatedAt: given.now,
  }
}

/**
 * The names that a tool may get here, best first: its own name; the same with the server's name in front, if another
 * tool has it; then numbered ones. Characters that are not allowed in tool names become underscores.
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

/**
 * The schema to store. If a model could not use it (invalid, too deep or too large), a schema that accepts any object.
 * The MCP server checks the arguments too.
 */
function usableSchema(schema: JsonObject): JsonObject {
  const any = { type: 'object' }
  try {
    const stored = storableJson(schema)
    if (stored.type !== 'object' || JSON.stringify(stored).length > maxSchema) return any
    return faultOfSchema(stored) === undefined ? stored : any
  } catch {
    // It is nested deeper than can be stored.
    return any
  }
}
