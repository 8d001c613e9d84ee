import { badUserInput } from '../domain/errors.ts'
import type { Given } from '../domain/input.ts'
import type { SleeptimeGroup } from '../domain/memory/sleeptime-group.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import { lockAgents } from '../store/agents.ts'
import {
  findSleeptimeGroups,
  listMadeAgentIds,
  lockSleeptimeGroup,
  setFrequency,
  setGroupAgents,
} from '../store/memory/sleeptime-groups.ts'
import { transact } from '../store/transact.ts'
import type { CommandContext } from './command-context.ts'
import { checkAgentIds, checkedFrequency, checkSleeptimeAgents, recordGroup } from './create-sleeptime-group.ts'
import { allFound, found } from './found.ts'

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
