import { settingsChange } from '../../domain/access/audit.ts'
import { badUserInput } from '../../domain/errors.ts'
import type { McpServer } from '../../domain/tools/mcp-server.ts'
import { namesForMcpTool, newMcpTool } from '../../domain/tools/mcp-tools.ts'
import type { ListedTool } from '../../domain/tools/tool-access.ts'
import { toolsNamedBy } from '../../domain/tools/tool-rules.ts'
import type { Tool } from '../../domain/tools/tool.ts'
import { listAgentIdsOfTool } from '../../store/agents/agent-tools.ts'
import { lockAgents } from '../../store/agents/agents.ts'
import { listToolsOfMcpServers } from '../../store/tools/mcp-servers.ts'
import type { Trx } from '../../store/database/schema.ts'
import { deleteTool, insertTool, setTool } from '../../store/tools/tools.ts'
import type { CommandContext } from '../command-context.ts'

/**
 * Updates a server's tools to what the server lists. A tool that it no longer lists is deleted, unless an agent's rules
 * name it: then it stays, and calls of it fail.
 */
export async function keepMcpTools(
  context: CommandContext,
  trx: Trx,
  server: McpServer,
  listed: readonly ListedTool[],
): Promise<void> {
  const now = context.clock.now()
  const kept = new Map((await listToolsOfMcpServers(trx, server, [server.id])).map((tool) => [tool.mcpToolName, tool]))
  const byName = new Map(listed.map((tool) => [tool.name, tool]))
  for (const tool of byName.values()) {
    const known = kept.get(tool.name)
    const { description, parameters } = tool
    const current = known && { ...known, description, parameters }
    if (!current) await insertUnderFreeName(context, trx, server, tool, now)
    else if (settingsChange(known, current)) await setTool(trx, { ...current, updatedAt: now })
  }
  for (const tool of kept.values()) {
    if (byName.has(tool.mcpToolName) || (await isNamedByRules(trx, tool))) continue
    await deleteTool(trx, server, tool.id)
  }
}

async function insertUnderFreeName(
  context: CommandContext,
  trx: Trx,
  server: McpServer,
  listed: ListedTool,
  now: Date,
): Promise<void> {
  const names = namesForMcpTool(server, listed)
  for (const name of names) {
    if (await insertTool(trx, newMcpTool(server, listed, { id: context.ids.next(), name, now }))) return
  }
  throw badUserInput('input.name', `There are other tools under every name that ${names[0]} of this server could get.`)
}

/** Locks the agents that have the tool, so that none gets a rule that names it meanwhile. */
export async function isNamedByRules(trx: Trx, tool: Tool): Promise<boolean> {
  const agents = await lockAgents(trx, tool, await listAgentIdsOfTool(trx, tool.id))
  return agents.some((agent) =>
    agent.toolRules.some((rule) => toolsNamedBy(rule).some((named) => named.tool === tool.name)),
  )
}
