import type { Viewer } from '../domain/access/viewer.ts'
import { lockAgents } from '../store/agents.ts'
import {
  deleteSleeptimeGroup as deleteGroupRow,
  findSleeptimeGroups,
  listMadeAgentIds,
  lockSleeptimeGroup,
} from '../store/memory/sleeptime-groups.ts'
import { transact } from '../store/transact.ts'
import type { CommandContext } from './command-context.ts'
import { recordGroup } from './create-sleeptime-group.ts'
import { removeAgents, stopRemovedRuns } from './delete-agent.ts'
import { found } from './found.ts'

/**
 * Deletes the group with the agents that were made for it. Other agents stay. A background run that is still waiting
 * finds nothing to read.
 */
export async function deleteSleeptimeGroup(
  context: CommandContext,
  viewer: Viewer,
  input: { readonly id: string },
): Promise<void> {
  const runIds = await transact(context, async (trx) => {
    const [group] = await findSleeptimeGroups(trx, viewer, [input.id])
    const before = found('SleeptimeGroup', input.id, group)
    const { agentId } = before
    const { tenantId } = viewer
    await lockAgents(trx, viewer, [agentId])
    // The group before its agents' conversations, the order in which the end of a turn locks them.
    found('SleeptimeGroup', input.id, await lockSleeptimeGroup(trx, viewer, input.id))
    const removed = await removeAgents(context, trx, { tenantId }, await listMadeAgentIds(trx, [agentId]))
    await deleteGroupRow(trx, input.id)
    await recordGroup(context, trx, viewer, 'deleteSleeptimeGroup', { before, after: null })
    return removed
  })
  stopRemovedRuns(context, runIds)
}
