import type { ConfiguredMcpServer, McpServer } from '../domain/tools/mcp-server.ts'
import { lockMcpServer, putConfiguredMcpServer, setMcpServerError } from '../store/mcp-servers.ts'
import { transact } from '../store/transact.ts'
import { errorMessage } from '../util/error-message.ts'
import type { Log } from '../util/log.ts'
import type { CommandContext } from './command-context.ts'
import { keepMcpTools } from './keep-mcp-tools.ts'

/** Stores the MCP servers of the configuration file, without their tools. Every process does this when it starts. */
export async function storeMcpServers(
  { db, ids, clock }: CommandContext,
  configured: readonly ConfiguredMcpServer[],
  tenantId: string,
): Promise<McpServer[]> {
  const servers: McpServer[] = []
  for (const { name, url, requiresApproval } of configured) {
    const rest = { headers: {}, lastError: null, configured: true, createdAt: clock.now() }
    servers.push(await putConfiguredMcpServer(db, { id: ids.next(), tenantId, name, url, requiresApproval, ...rest }))
  }
  return servers
}

/** Asks each server for its tools. An unreachable server keeps its known tools, and `lastError` says why. */
export async function listMcpServers(context: CommandContext, servers: readonly McpServer[], log: Log): Promise<void> {
  const list = async (server: McpServer) => {
    const answer = await context.tools.listMcpTools(server).then(
      (listed) => ({ listed, lastError: null }),
      (error: unknown) => ({ listed: undefined, lastError: errorMessage(error) }),
    )
    await transact(context, async (trx) => {
      const locked = await lockMcpServer(trx, server, server.id)
      if (locked && answer.listed) await keepMcpTools(context, trx, locked, answer.listed)
      await setMcpServerError(trx, server.id, answer.lastError)
    })
  }
  const outcomes = await Promise.allSettled(servers.map(list))
  for (const [place, outcome] of outcomes.entries()) {
    if (outcome.status === 'fulfilled') continue
    log.warn({ err: outcome.reason, mcpServer: servers[place]!.name }, 'the tools of an MCP server could not be stored')
  }
}
