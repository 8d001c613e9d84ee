import type { Viewer } from '../domain/viewer.ts'
import { deleteAgent as deleteAgentRow, lockAgent } from '../store/agents.ts'
import { lockConversationsToDelete } from '../store/conversations.ts'
import type { CommandContext } from './command-context.ts'
import { found } from './found.ts'

/**
 * With its conversations, their runs and messages; blocks and tools stay. A worker that drives one of the runs finds its row
 * gone at its next checkpoint, and stops.
 */
export async function deleteAgent(context: CommandContext, viewer: Viewer, input: { id: string }): Promise<void> {
  const { tenantId } = viewer
  const { unfinishedRunIds } = await context.db.transaction().execute(async (trx) => {
    found('Agent', input.id, await lockAgent(trx, tenantId, input.id))
    const locked = await lockConversationsToDelete(trx, tenantId, { agentId: input.id })
    await deleteAgentRow(trx, tenantId, input.id)
    return locked
  })
  for (const runId of unfinishedRunIds) {
    context.hub.askToStop(runId)
    context.hub.poke(runId, 'stored')
  }
}
