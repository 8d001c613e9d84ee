import { badUserInput } from '../../domain/errors.ts'
import { checkedName, shown, type Given } from '../../domain/input.ts'
import type { McpServer } from '../../domain/tools/mcp-server.ts'
import { sealHeaders } from '../../domain/tools/sealed-headers.ts'
import { checkedHeaders, checkedHttpUrl } from '../../domain/tools/tool-input.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import {
  deleteMcpServer,
  insertMcpServer,
  listToolsOfMcpServers,
  lockMcpServer,
} from '../../store/tools/mcp-servers.ts'
import { transact } from '../../store/database/transact.ts'
import type { Json } from '../../util/json.ts'
import type { CommandContext } from '../command-context.ts'
import { isNamedByRules, keepMcpTools } from './keep-mcp-tools.ts'
import { changeOf, recordChange } from '../record-change.ts'
import { errorMessage } from '../../util/error-message.ts'
import { found } from '../found.ts'

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
export async function removeMcpServer(
  context: CommandContext,
  viewer: Viewer,
  input: { readonly id: string },
): Promise<void> {
  await transact(context, async (trx) => {
    const server = found('McpServer', input.id, await lockMcpServer(trx, viewer, input.id))
    for (const tool of await listToolsOfMcpServers(trx, viewer, [server.id])) {
      if (await isNamedByRules(trx, tool))
        throw badUserInput(
          'input.id',
          `Tool rules of agents name ${tool.name}, a tool of this server. Change them with updateAgent first.`,
        )
    }
    await deleteMcpServer(trx, viewer, server.id)
    await recordChange(context, trx, viewer, changeOf('removeMcpServer', 'McpServer', server, null))
  })
}
