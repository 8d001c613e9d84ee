import type { McpServer } from '../domain/tools/mcp-server.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import { findMcpServers, lockMcpServer, setMcpServerError } from '../store/mcp-servers.ts'
import { transact } from '../store/transact.ts'
import type { CommandContext } from './command-context.ts'
import { found } from './found.ts'
import { keepMcpTools } from './keep-mcp-tools.ts'
import { recordAct } from './record-change.ts'
import { errorMessage } from '../util/error-message.ts'

/** Asks the server for its tools again. If it cannot be reached, its tools stay and `lastError` says why. */
export async function refreshMcpServer(
  context: CommandContext,
  viewer: Viewer,
  input: { readonly id: string },
): Promise<McpServer> {
  const [asked] = await findMcpServers(context.db, viewer, [input.id])
  const known = found('McpServer', input.id, asked)
  const answer = await context.tools.listMcpTools(known).then(
    (listed) => ({ listed, lastError: null }),
    (error: unknown) => ({ listed: undefined, lastError: errorMessage(error) }),
  )
  return transact(context, async (trx) => {
    const server = found('McpServer', input.id, await lockMcpServer(trx, viewer, input.id))
    if (answer.listed) await keepMcpTools(context, trx, server, answer.listed)
    await setMcpServerError(trx, server.id, answer.lastError)
    await recordAct(context, trx, viewer, { action: 'refreshMcpServer', subject: ['McpServer', server.id] })
    return { ...server, lastError: answer.lastError }
  })
}
