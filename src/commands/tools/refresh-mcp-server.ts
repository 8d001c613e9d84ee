import type { ConfiguredMcpServer, McpServer } from '../../domain/tools/mcp-server.ts'
import type { ListedTool } from '../../domain/tools/tool-access.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import {
  findMcpServers,
  lockMcpServer,
  putConfiguredMcpServer,
  setMcpServerError,
} from '../../store/tools/mcp-servers.ts'
import { transact } from '../../store/database/transact.ts'
import type { Trx } from '../../store/database/schema.ts'
import type { CommandContext } from '../command-context.ts'
import { found } from '../found.ts'
import { keepMcpTools } from './keep-mcp-tools.ts'
import { recordAct } from '../record-change.ts'
import { errorMessage } from '../../util/error-message.ts'
import type { Log } from '../../util/log.ts'

/** Asks the server for its tools again. If it cannot be reached, its tools stay and `lastError` says why. */
export async function refreshMcpServer(
  context: CommandContext,
  viewer: Viewer,
  input: { readonly id: string },
): Promise<McpServer> {
  const [asked] = await findMcpServers(context.db, viewer, [input.id])
  const known = found('McpServer', input.id, asked)
  const answer = await askForTools(context, known)
  return transact(context, async (trx) => {
    const server = found('McpServer', input.id, await lockMcpServer(trx, viewer, input.id))
    await keepAnswer(context, trx, server, answer)
    await recordAct(context, trx, viewer, { action: 'refreshMcpServer', subject: ['McpServer', server.id] })
    return { ...server, lastError: answer.lastError }
  })
}

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
export async function refreshMcpServers(
  context: CommandContext,
  servers: readonly McpServer[],
  log: Log,
): Promise<void> {
  const list = async (server: McpServer) => {
    const answer = await askForTools(context, server)
    if (answer.lastError !== null)
      log.warn({ mcpServer: server.name, reason: answer.lastError }, 'an MCP server cannot be reached')
    await transact(context, async (trx) => {
      const locked = await lockMcpServer(trx, server, server.id)
      if (locked) await keepAnswer(context, trx, locked, answer)
    })
  }
  const outcomes = await Promise.allSettled(servers.map(list))
  for (const [place, outcome] of outcomes.entries()) {
    if (outcome.status === 'fulfilled') continue
    log.warn({ err: outcome.reason, mcpServer: servers[place]!.name }, 'the tools of an MCP server could not be stored')
  }
}

interface Answer {
  readonly listed: readonly ListedTool[] | undefined
  readonly lastError: string | null
}

function askForTools({ tools }: CommandContext, server: McpServer): Promise<Answer> {
  return tools.listMcpTools(server).then(
    (listed) => ({ listed, lastError: null }),
    (error: unknown) => ({ listed: undefined, lastError: errorMessage(error) }),
  )
}

async function keepAnswer(context: CommandContext, trx: Trx, server: McpServer, answer: Answer): Promise<void> {
  if (answer.listed) await keepMcpTools(context, trx, server, answer.listed)
  await setMcpServerError(trx, server.id, answer.lastError)
}
