import type { Agent } from '../../domain/agents/agent.ts'
import { badUserInput } from '../../domain/errors.ts'
import { checkedCount, checkedDistinctIds, checkedNumber, shown, type Given } from '../../domain/input.ts'
import {
  personaLabel,
  refuseWaitingTools,
  sleeptimeAgentOf,
  sleeptimePersona,
  sleeptimeToolNames,
} from '../../domain/memory/sleeptime-agent.ts'
import type { SleeptimeGroup } from '../../domain/memory/sleeptime.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import { listToolsOfAgents } from '../../store/agents/agent-tools.ts'
import { lockAgents } from '../../store/agents/agents.ts'
import type { Trx } from '../../store/database/schema.ts'
import {
  findSleeptimeGroups,
  insertSleeptimeGroup,
  setGroupAgents,
  deleteSleeptimeGroup as deleteGroupRow,
  listMadeAgentIds,
  lockSleeptimeGroup,
  setFrequency,
} from '../../store/memory/sleeptime-groups.ts'
import type { CommandContext, IdInput } from '../command-context.ts'
import { createOnce, type Creation } from '../create-once.ts'
import { allFound, found, foundOne } from '../found.ts'
import { changeOf, recordChange } from '../record-change.ts'
import { checkBlockCount } from '../../domain/agents/agent-parts.ts'
import { newBlock } from '../../domain/memory/block.ts'
import { listBlocksOfAgents } from '../../store/memory/blocks.ts'
import { listBuiltinTools } from '../../store/tools/tools.ts'
import { insertWholeAgent } from '../agents/create-agent.ts'
import { transact } from '../../store/database/transact.ts'
import { removeAgents, stopRemovedRuns } from '../agents/delete-agent.ts'

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
    const foreground = await lockMembers(trx, viewer, input.agentId, agentIds)
    const id = context.ids.next()
    const createdAt = context.clock.now()
    if (!(await insertSleeptimeGroup(trx, { id, tenantId, agentId: input.agentId, frequency, createdAt })))
      throw badUserInput(
        'input.agentId',
        `The agent ${shown(foreground.name)} already has a sleeptime group. Change it with updateSleeptimeGroup.`,
      )
    const members =
      agentIds.length > 0
        ? agentIds.map((agentId) => ({ agentId, madeForGroup: false }))
        : [{ agentId: await makeSleeptimeAgent(context, trx, foreground), madeForGroup: true }]
    await setGroupAgents(trx, id, members)
    const after = await foundOne('SleeptimeGroup', id, findSleeptimeGroups(trx, viewer, [id]))
    await recordChange(context, trx, viewer, changeOf('createSleeptimeGroup', 'SleeptimeGroup', null, after))
    return after
  })
}

function checkedFrequency(frequency: number): number {
  return checkedNumber('input.frequency', frequency, { from: 1, to: 1_000_000 })
}

function checkAgentIds(agentIds: readonly string[]): void {
  checkedCount('input.sleeptimeAgentIds', agentIds, { max: maxAgents })
  checkedDistinctIds('input.sleeptimeAgentIds', 'Agent', agentIds)
}

/**
 * Locks the foreground agent, which is returned, and those that are to work for it: none of them gets a tool that may
 * wait before the group is stored.
 */
async function lockMembers(trx: Trx, viewer: Viewer, agentId: string, agentIds: readonly string[]): Promise<Agent> {
  const agents = await lockAgents(trx, viewer, [...new Set([agentId, ...agentIds])])
  const byId = new Map(agents.map((agent) => [agent.id, agent]))
  const foreground = found('Agent', agentId, byId.get(agentId))
  const tools = await listToolsOfAgents(trx, foreground, agentIds)
  for (const [index, agent] of allFound('Agent', agentIds, agents).entries()) {
    const field = `input.sleeptimeAgentIds.${index}`
    if (agent === foreground)
      throw badUserInput(field, 'It is the foreground agent, which cannot work in the background for itself.')
    const own = tools.filter((agentTool) => agentTool.agentId === agent.id)
    refuseWaitingTools(field, agent, own)
  }
  return foreground
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
        .map((tool) => ({ tool, approvalOverride: false })),
    ),
  })
  return agent.id
}

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
  { id, ...input }: UpdateSleeptimeGroupInput,
): Promise<SleeptimeGroup> {
  const frequency = typeof input.frequency === 'number' ? checkedFrequency(input.frequency) : undefined
  const agentIds = input.sleeptimeAgentIds ?? undefined
  if (agentIds) checkAgentIds(agentIds)
  if (agentIds?.length === 0)
    throw badUserInput('input.sleeptimeAgentIds', 'It is empty. To stop all background work, delete the group.')

  return transact(context, async (trx) => {
    const before = await foundOne('SleeptimeGroup', id, findSleeptimeGroups(trx, viewer, [id]))
    // Agents are locked before the group, as in createSleeptimeGroup.
    await lockMembers(trx, viewer, before.agentId, agentIds ?? [])
    found('SleeptimeGroup', id, await lockSleeptimeGroup(trx, viewer, id))
    if (agentIds) {
      const made = await listMadeAgentIds(trx, [before.agentId])
      const members = agentIds.map((agentId) => ({ agentId, madeForGroup: made.includes(agentId) }))
      await setGroupAgents(trx, id, members)
    }
    if (frequency !== undefined) await setFrequency(trx, id, frequency)
    const after = await foundOne('SleeptimeGroup', id, findSleeptimeGroups(trx, viewer, [id]))
    await recordChange(context, trx, viewer, changeOf('updateSleeptimeGroup', 'SleeptimeGroup', before, after))
    return after
  })
}

/**
 * Deletes the group with the agents that were made for it. Other agents stay. A background run that is still waiting
 * finds nothing to read.
 */
export async function deleteSleeptimeGroup(context: CommandContext, viewer: Viewer, { id }: IdInput): Promise<void> {
  const runIds = await transact(context, async (trx) => {
    const before = await foundOne('SleeptimeGroup', id, findSleeptimeGroups(trx, viewer, [id]))
    const { agentId } = before
    const { tenantId } = viewer
    await lockAgents(trx, viewer, [agentId])
    // The group before its agents' conversations, the order in which the end of a turn locks them.
    found('SleeptimeGroup', id, await lockSleeptimeGroup(trx, viewer, id))
    const removed = await removeAgents(context, trx, { tenantId }, await listMadeAgentIds(trx, [agentId]))
    await deleteGroupRow(trx, id)
    await recordChange(context, trx, viewer, changeOf('deleteSleeptimeGroup', 'SleeptimeGroup', before, null))
    return removed
  })
  stopRemovedRuns(context, runIds)
}
