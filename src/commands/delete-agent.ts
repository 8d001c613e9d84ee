import type { Transaction } from 'kysely'

import { personaLabel } from '../domain/memory/sleeptime-agent.ts'
import type { Reach, Viewer } from '../domain/access/viewer.ts'
import { lockAgent, lockAgents } from '../store/agents.ts'
import { deleteOwnBlocks } from '../store/blocks.ts'
import { lockConversationsToDelete } from '../store/conversations/conversations.ts'
import { markAgentDeleted } from '../store/deletions.ts'
import type { Database } from '../store/database/schema.ts'
import { listMadeAgentIds } from '../store/memory/sleeptime-groups.ts'
import { transact } from '../store/transact.ts'
import type { CommandContext } from './command-context.ts'
import { found } from './found.ts'
import { recordChange } from './record-change.ts'

/**
 * Deletes the agent with its conversations, their runs and messages, and the agents that were made to work for it.
 * Blocks and tools stay. A worker that drives one of the runs finds the row gone at its next checkpoint, and stops.
 * Other rows are deleted in the background.
 */
export async function deleteAgent(context: CommandContext, viewer: Viewer, input: { id: string }): Promise<void> {
  const runIds = await transact(context, async (trx) => {
    const agent = found('Agent', input.id, await lockAgent(trx, viewer, input.id))
    // Its own conversations first, the order in which the end of a turn locks them.
    await lockConversationsToDelete(trx, viewer, { agentId: input.id })
    const reach = { tenantId: viewer.tenantId }
    const ofMade = await removeAgents(context, trx, reach, await listMadeAgentIds(trx, [input.id]))
    const own = await markAgentDeleted(trx, input.id, context.clock.now())
    const change = { before: agent, after: null }
    await recordChange(context, trx, viewer, { action: 'deleteAgent', subject: ['Agent', agent.id], ...change })
    return [...own, ...ofMade]
  })
  stopRemovedRuns(context, runIds)
}

/**
 * Deletes agents that were made for a group, each with the block that was made for it. Returns the runs that had not
 * ended.
 */
export async function removeAgents(
  { clock }: CommandContext,
  trx: Transaction<Database>,
  reach: Reach,
  ids: readonly string[],
): Promise<string[]> {
  await lockAgents(trx, reach, ids)
  const runIds: string[] = []
  for (const agentId of ids) {
    await lockConversationsToDelete(trx, reach, { agentId })
    await deleteOwnBlocks(trx, agentId, personaLabel)
    runIds.push(...(await markAgentDeleted(trx, agentId, clock.now())))
  }
  return runIds
}

/** Must be called after the commit. */
export function stopRemovedRuns({ hub }: CommandContext, runIds: readonly string[]): void {
  for (const runId of runIds) {
    hub.requestStop(runId)
    hub.runChanged(runId)
  }
}
