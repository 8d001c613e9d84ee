import { personaLabel } from '../../domain/memory/sleeptime-agent.ts'
import type { Reach, Viewer } from '../../domain/access/viewer.ts'
import { lockAgent, lockAgents } from '../../store/agents/agents.ts'
import { deleteOwnBlocks } from '../../store/memory/blocks.ts'
import { lockConversationsToDelete } from '../../store/conversations/conversations.ts'
import { markAgentDeleted } from '../../store/deletions.ts'
import type { Trx } from '../../store/database/schema.ts'
import { listMadeAgentIds } from '../../store/memory/sleeptime-groups.ts'
import { deleteBudgetsOfAgent } from '../../store/usage/budgets.ts'
import { transact } from '../../store/database/transact.ts'
import { disableSchedulesOf } from '../schedules/run-schedule.ts'
import type { CommandContext, IdInput } from '../command-context.ts'
import { found } from '../found.ts'
import { changeOf, recordChange } from '../record-change.ts'

/**
 * Deletes the agent with its conversations, their runs and messages, and the agents that were made to work for it.
 * Blocks and tools stay. A worker that drives one of the runs finds the row gone at its next checkpoint, and stops.
 * Other rows are deleted in the background.
 */
export async function deleteAgent(context: CommandContext, viewer: Viewer, input: IdInput): Promise<void> {
  const runIds = await transact(context, async (trx) => {
    const agent = found('Agent', input.id, await lockAgent(trx, viewer, input.id))
    // Its own conversations first, the order in which the end of a turn locks them.
    await lockConversationsToDelete(trx, viewer, { agentId: input.id })
    const reach = { tenantId: viewer.tenantId }
    const ofMade = await removeAgents(context, trx, reach, await listMadeAgentIds(trx, [input.id]))
    const own = await markAgentDeleted(trx, input.id, context.clock.now())
    await disableSchedulesOf(trx, { agentIds: [input.id] }, context.clock.now())
    await deleteBudgetsOfAgent(trx, input.id)
    await recordChange(context, trx, viewer, changeOf('deleteAgent', 'Agent', agent, null))
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
  trx: Trx,
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
