import { badUserInput } from '../domain/errors.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import { deleteMcpServer, listToolsOfMcpServers, lockMcpServer } from '../store/mcp-servers.ts'
import { transact } from '../store/transact.ts'
import type { CommandContext } from './command-context.ts'
import { found } from './found.ts'
import { isNamedByRules } from './keep-mcp-tools.ts'
import { recordChange } from './record-change.ts'

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
    const change = { before: server, after: null }
    await recordChange(context, trx, viewer, {
      action: 'removeMcpServer',
      subject: ['McpServer', server.id],
      ...change,
    })
  })
}
