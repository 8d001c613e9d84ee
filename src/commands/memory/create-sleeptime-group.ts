import type { Agent } from '../../domain/agents/agent.ts'
import { badUserInput } from '../../domain/errors.ts'
import { encodeId } from '../../domain/ids.ts'
import { checkedCount, checkedDistinct, checkedNumber, shown, type Given } from '../../domain/input.ts'
import {
  personaLabel,
  refuseWaitingTools,
  sleeptimeAgentOf,
  sleeptimePersona,
  sleeptimeToolNames,
} from '../../domain/memory/sleeptime-agent.ts'
import type { SleeptimeGroup } from '../../domain/memory/sleeptime-group.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import { listToolsOfAgents } from '../../store/agents/agent-tools.ts'
import { lockAgents } from '../../store/agents/agents.ts'
import type { Trx } from '../../store/database/schema.ts'
import { findSleeptimeGroups, insertSleeptimeGroup, setGroupAgents } from '../../store/memory/sleeptime-groups.ts'
import type { CommandContext } from '../command-context.ts'
import { createOnce, type Creation } from '../create-once.ts'
import { allFound, found } from '../found.ts'
import { changeOf, recordChange } from '../record-change.ts'
import { checkBlockCount } from '../../domain/agents/agent-parts.ts'
import { newBlock } from '../../domain/memory/block.ts'
import { listBlocksOfAgents } from '../../store/memory/blocks.ts'
import { listBuiltinTools } from '../../store/tools/tools.ts'
import { insertWholeAgent } from '../agents/create-agent.ts'

export interface CreateSleeptimeGroupInput {
  readonly agentId: string
  /** If none are named, one is created. */
  readonly sleeptimeAgentIds?: Given<readonly string[]>
  readonly frequency: number
  readonly idempotencyKey?: Given<string>
}

const maxAgents = 10

export async function createSleeptimeGroup(
  context: CommandContext,
  viewer: Viewer,
  input: CreateSleeptimeGroupInput,
): Promise<SleeptimeGroup> {
  const { tenantId } = viewer
  const frequency = checkedFrequency(input.frequency)
  const agentIds = input.sleeptimeAgentIds ?? []
  checkAgentIds(agentIds)
  const creation: Creation<SleeptimeGroup> = {
    mutation: 'createSleeptimeGroup',
    kind: 'SleeptimeGroup',
    input,
    defaults: { sleeptimeAgentIds: [] },
    find: findSleeptimeGroups,
  }
  return createOnce(context, viewer, creation, async (trx) => {
    const agents = await lockAgents(trx, viewer, [...new Set([input.agentId, ...agentIds])])
    const [foreground] = allFound('Agent', [input.agentId], agents)
    await checkSleeptimeAgents(trx, foreground!, allFound('Agent', agentIds, agents))

    const id = context.ids.next()
    const createdAt = context.clock.now()
    if (!(await insertSleeptimeGroup(trx, { id, tenantId, agentId: input.agentId, frequency, createdAt })))
      throw badUserInput(
        'input.agentId',
        `The agent ${shown(foreground!.name)} already has a sleeptime group. Change it with updateSleeptimeGroup.`,
      )
    const members =
      agentIds.length > 0
        ? agentIds.map((agentId) => ({ agentId, madeForGroup: false }))
        : [{ agentId: await makeSleeptimeAgent(context, trx, foreground!), madeForGroup: true }]
    await setGroupAgents(trx, id, members)
    const [group] = await findSleeptimeGroups(trx, viewer, [id])
    const after = found('SleeptimeGroup', id, group)
    await recordGroup(context, trx, viewer, 'createSleeptimeGroup', { before: null, after })
    return after
  })
}

/** The audit entry of a change of a group. */
export async function recordGroup(
  context: CommandContext,
  trx: Trx,
  viewer: Viewer,
  action: string,
  { before, after }: { readonly before: SleeptimeGroup | null; readonly after: SleeptimeGroup | null },
): Promise<void> {
  const shownGroup = (group: SleeptimeGroup | null) =>
    group && {
      id: group.id,
      agentId: encodeId('Agent', group.agentId),
      sleeptimeAgentIds: group.sleeptimeAgentIds.map((id) => encodeId('Agent', id)),
      frequency: group.frequency,
    }
  await recordChange(context, trx, viewer, changeOf(action, 'SleeptimeGroup', shownGroup(before), shownGroup(after)))
}

export function checkedFrequency(frequency: number): number {
  return checkedNumber('input.frequency', frequency, { from: 1, to: 1_000_000 })
}

export function checkAgentIds(agentIds: readonly string[]): void {
  checkedCount('input.sleeptimeAgentIds', agentIds, { max: maxAgents })
  checkedDistinct(
    'input.sleeptimeAgentIds',
    agentIds.map((id) => encodeId('Agent', id)),
  )
}

/** All of them are locked, so that none gets a tool that may wait before the group is stored. */
export async function checkSleeptimeAgents(trx: Trx, foreground: Agent, agents: readonly Agent[]): Promise<void> {
  const tools = await listToolsOfAgents(
    trx,
    foreground,
    agents.map((agent) => agent.id),
  )
  for (const [index, agent] of agents.entries()) {
    const field = `input.sleeptimeAgentIds.${index}`
    if (agent.id === foreground.id)
      throw badUserInput(field, 'It is the foreground agent, which cannot work in the background for itself.')
    refuseWaitingTools(
      field,
      agent,
      tools.filter((agentTool) => agentTool.agentId === agent.id),
    )
  }
}

/**
 * Makes the sleeptime agent of an agent for which none is named. It shares all blocks of that agent, whose row is
 * locked.
 */
async function makeSleeptimeAgent({ ids, clock }: CommandContext, trx: Trx, foreground: Agent): Promise<string> {
  const { tenantId } = foreground
  const now = clock.now()
  const agent = sleeptimeAgentOf(foreground, { id: ids.next(), now })
  const shared = (await listBlocksOfAgents(trx, foreground, [foreground.id])).map(({ block }) => block)
  const own = shared.some((block) => block.label === personaLabel)
    ? []
    : [newBlock(sleeptimePersona, { id: ids.next(), tenantId, createdAt: now })]
  checkBlockCount('input.agentId', shared.length + own.length)

  const tools = await listBuiltinTools(trx, foreground, sleeptimeToolNames)
  await insertWholeAgent({ ids }, trx, agent, {
    newBlocks: own,
    sharedBlocks: shared,
    tools: sleeptimeToolNames.flatMap((name) =>
      tools
        .filter((tool) => tool.name === name)
        // Overrides the tenant's settings for these tools, because nobody would be there to approve.
        .map((tool) => ({ toolId: tool.id, approvalOverride: false })),
    ),
  })
  return agent.id
}
