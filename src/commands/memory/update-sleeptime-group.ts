import { badUserInput } from '../../domain/errors.ts'
import type { Given } from '../../domain/input.ts'
import type { SleeptimeGroup } from '../../domain/memory/sleeptime-group.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import { lockAgents } from '../../store/agents/agents.ts'
import {
  deleteSleeptimeGroup as deleteGroupRow,
  findSleeptimeGroups,
  listMadeAgentIds,
  lockSleeptimeGroup,
  setFrequency,
  setGroupAgents,
} from '../../store/memory/sleeptime-groups.ts'
import { transact } from '../../store/database/transact.ts'
import type { CommandContext } from '../command-context.ts'
import { checkAgentIds, checkSleeptimeAgents, checkedFrequency, recordGroup } from './create-sleeptime-group.ts'
import { allFound, found } from '../found.ts'
import { removeAgents, stopRemovedRuns } from '../agents/delete-agent.ts'

export interface UpdateSleeptimeGroupInput {
  readonly id: string
  /** Replaces all agents of the group. */
  readonly sleeptimeAgentIds?: Given<readonly string[]>
  readonly frequency?: Given<number>
}

/** Omitted fields stay unchanged. An agent that was made for the group is kept when it leaves the group. */
export async function updateSleeptimeGroup(
  context: CommandContext,
  viewer: Viewer,
  input: UpdateSleeptimeGroupInput,
): Promise<SleeptimeGroup> {
  const frequency = typeof input.frequency === 'number' ? checkedFrequency(input.frequency) : undefined
  const agentIds = input.sleeptimeAgentIds ?? undefined
  if (agentIds) checkAgentIds(agentIds)
  if (agentIds?.length === 0)
    throw badUserInput('input.sleeptimeAgentIds', 'It is empty. To stop all background work, delete the group.')

  return transact(context, async (trx) => {
    const [before] = await findSleeptimeGroups(trx, viewer, [input.id])
    const stored = found('SleeptimeGroup', input.id, before)
    const { agentId } = stored
    // Agents are locked before the group, as in createSleeptimeGroup.
    const agents = await lockAgents(trx, viewer, [...new Set([agentId, ...(agentIds ?? [])])])
    found('SleeptimeGroup', input.id, await lockSleeptimeGroup(trx, viewer, input.id))
    if (agentIds) {
      const [foreground] = allFound('Agent', [agentId], agents)
      await checkSleeptimeAgents(trx, foreground!, allFound('Agent', agentIds, agents))
      const made = await listMadeAgentIds(trx, [agentId])
      await setGroupAgents(
        trx,
        input.id,
        agentIds.map((id) => ({ agentId: id, madeForGroup: made.includes(id) })),
      )
    }
    if (frequency !== undefined) await setFrequency(trx, input.id, frequency)
    const [group] = await findSleeptimeGroups(trx, viewer, [input.id])
    const after = found('SleeptimeGroup', input.id, group)
    await recordGroup(context, trx, viewer, 'updateSleeptimeGroup', { before: stored, after })
    return after
  })
}

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
