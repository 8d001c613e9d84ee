import { badUserInput } from '../../domain/errors.ts'
import { checkedName, shown, type Given } from '../../domain/input.ts'
import type { McpServer, ConfiguredMcpServer } from '../../domain/tools/mcp-server.ts'
import { sealHeaders } from '../../domain/tools/sealed-headers.ts'
import { checkedHeaders, checkedHttpUrl } from '../../domain/tools/tool-input.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import {
  deleteMcpServer,
  insertMcpServer,
  listToolsOfMcpServers,
  lockMcpServer,
  findMcpServers,
  putConfiguredMcpServer,
  setMcpServerError,
} from '../../store/tools/mcp-servers.ts'
import { transact } from '../../store/database/transact.ts'
import type { Json } from '../../util/json.ts'
import type { CommandContext, IdInput } from '../command-context.ts'
import { changeOf, recordChange, recordAct } from '../record-change.ts'
import { errorMessage } from '../../util/error-message.ts'
import { found, foundOne } from '../found.ts'
import type { ListedTool } from '../../domain/tools/tool-access.ts'
import type { Trx } from '../../store/database/schema.ts'
import type { Log } from '../../util/log.ts'
import { settingsChange } from '../../domain/access/audit.ts'
import { namesForMcpTool, newMcpTool } from '../../domain/tools/mcp-tools.ts'
import { lockAgentsWithRulesFor } from './upsert-tool.ts'
import { deleteTool, insertTool, setTool } from '../../store/tools/tools.ts'

export interface AddMcpServerInput {
  readonly name: string
  readonly url: string
  readonly headers?: Given<Json>
  readonly requiresApproval?: Given<boolean>
}

/** Adds the server with its tools. Stores nothing if it cannot be reached. */
export async function addMcpServer(
  context: CommandContext,
  viewer: Viewer,
  input: AddMcpServerInput,
): Promise<McpServer> {
  const server: McpServer = {
    id: context.ids.next(),
    tenantId: viewer.tenantId,
    name: checkedName('input.name', input.name, { max: 64 }),
    url: checkedHttpUrl('input.url', input.url),
    headers: sealHeaders(context.secrets, checkedHeaders('input.headers', input.headers ?? {}), viewer),
    lastError: null,
    requiresApproval: input.requiresApproval ?? false,
    configured: false,
    createdAt: context.clock.now(),
  }
  const listed = await context.tools.listMcpTools(server).catch((error: unknown) => {
    throw badUserInput('input.url', `The server cannot be reached at this URL: ${errorMessage(error)}`)
  })
  await transact(context, async (trx) => {
    if (!(await insertMcpServer(trx, server)))
      throw badUserInput('input.name', `There is another server named ${shown(server.name)}. Choose another name.`)
    await keepMcpTools(context, trx, server, listed)
    await recordChange(context, trx, viewer, changeOf('addMcpServer', 'McpServer', null, server))
  })
  return server
}

/** Also removes its tools. Refused if an agent's rules name one of them, because they would require a missing tool. */
export async function removeMcpServer(context: CommandContext, viewer: Viewer, { id }: IdInput): Promise<void> {
  await transact(context, async (trx) => {
    const server = found('McpServer', id, await lockMcpServer(trx, viewer, id))
    for (const tool of await listToolsOfMcpServers(trx, viewer, [id])) {
      if ((await lockAgentsWithRulesFor(trx, tool)).length > 0)
        throw badUserInput(
          'input.id',
          `Tool rules of agents name ${tool.name}, a tool of this server. Change them with updateAgent first.`,
        )
    }
    await deleteMcpServer(trx, viewer, id)
    await recordChange(context, trx, viewer, changeOf('removeMcpServer', 'McpServer', server, null))
  })
}

/** Asks the server for its tools again. If it cannot be reached, its tools stay and `lastError` says why. */
export async function refreshMcpServer(context: CommandContext, viewer: Viewer, { id }: IdInput): Promise<McpServer> {
  const known = await foundOne('McpServer', id, findMcpServers(context.db, viewer, [id]))
  const answer = await askForTools(context, known)
  return transact(context, async (trx) => {
    const server = found('McpServer', id, await lockMcpServer(trx, viewer, id))
    await keepAnswer(context, trx, server, answer)
    await recordAct(context, trx, viewer, { action: 'refreshMcpServer', subject: ['McpServer', id] })
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
  const refresh = async (server: McpServer) => {
    const { name: mcpServer } = server
    const answer = await askForTools(context, server)
    if (answer.lastError !== null) log.warn({ mcpServer, reason: answer.lastError }, 'an MCP server cannot be reached')
    await transact(context, async (trx) => {
      const locked = await lockMcpServer(trx, server, server.id)
      if (locked) await keepAnswer(context, trx, locked, answer)
    }).catch((err: unknown) => log.warn({ err, mcpServer }, 'the tools of an MCP server could not be stored'))
  }
  await Promise.all(servers.map(refresh))
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

/**
 * Updates a server's tools to what the server lists. A tool that it no longer lists is deleted, unless an agent's rules
 * name it: then it stays, and calls of it fail.
 */
async function keepMcpTools(
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
    if (byName.has(tool.mcpToolName)) continue
    if ((await lockAgentsWithRulesFor(trx, tool)).length === 0) await deleteTool(trx, server, tool.id)
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
