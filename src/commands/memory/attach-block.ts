import { checkBlockCount, checkLabels } from '../../domain/agents/agent-parts.ts'
import type { Agent } from '../../domain/agents/agent.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import { lockAgent, lockAgents } from '../../store/agents/agents.ts'
import { deleteAgentBlocks, insertAgentBlocks, listBlocksOfAgents, lockBlocks } from '../../store/memory/blocks.ts'
import { transact } from '../../store/database/transact.ts'
import type { CommandContext } from '../command-context.ts'
import { found, foundOne } from '../found.ts'
import { idsOf, storeAgent } from '../record-change.ts'
import type { Block } from '../../domain/memory/block.ts'
import type { Trx } from '../../store/database/schema.ts'
import { listMadeAgentIds } from '../../store/memory/sleeptime-groups.ts'

/** Nothing changes if the agent already has the block. */
export async function attachBlock(
  context: CommandContext,
  viewer: Viewer,
  input: { readonly agentId: string; readonly blockId: string },
): Promise<Agent> {
  return transact(context, async (trx) => {
    const block = await foundOne('Block', input.blockId, lockBlocks(trx, viewer, [input.blockId]))
    const stored = found('Agent', input.agentId, await lockAgent(trx, viewer, input.agentId))
    const attached = (await listBlocksOfAgents(trx, viewer, [stored.id])).map((owned) => owned.block)
    if (attached.some((owned) => owned.id === input.blockId)) return stored
    checkBlockCount('input.blockId', attached.length + 1)
    checkLabels('input.blockId', [...attached, block])
    await insertAgentBlocks(trx, stored.id, [input.blockId])
    await shareBlocks(trx, stored, { field: 'input.blockId', blocks: [block] })
    const change = { before: null, after: { blockIds: idsOf([block]) } }
    return storeAgent(context, trx, viewer, stored, { action: 'attachBlock', ...change })
  })
}

/** Keeps the block. Nothing changes if the agent does not have it. */
export async function detachBlock(
  context: CommandContext,
  viewer: Viewer,
  input: { readonly agentId: string; readonly blockId: string },
): Promise<Agent> {
  return transact(context, async (trx) => {
    await foundOne('Block', input.blockId, lockBlocks(trx, viewer, [input.blockId]))
    const stored = found('Agent', input.agentId, await lockAgent(trx, viewer, input.agentId))
    if (!(await deleteAgentBlocks(trx, stored.id, { blockId: input.blockId }))) return stored
    const change = { before: { blockIds: [input.blockId] }, after: null }
    return storeAgent(context, trx, viewer, stored, { action: 'detachBlock', ...change })
  })
}

/**
 * Gives an agent's new blocks also to the agent that was made to work for it. The blocks and the agent are locked
 * already. The other agent is newer, so locking it last keeps the order.
 */
export async function shareBlocks(
  trx: Trx,
  agent: Agent,
  { field, blocks }: { readonly field: string; readonly blocks: readonly Block[] },
): Promise<void> {
  const madeIds = await listMadeAgentIds(trx, [agent.id])
  await lockAgents(trx, agent, madeIds)
  const owned = await listBlocksOfAgents(trx, agent, madeIds)
  for (const madeId of madeIds) {
    const has = owned.filter(({ agentId }) => agentId === madeId).map(({ block }) => block)
    const added = blocks.filter((block) => !has.some(({ id }) => id === block.id))
    checkBlockCount(field, has.length + added.length)
    checkLabels(field, [...has, ...added])
    await insertAgentBlocks(
      trx,
      madeId,
      added.map((block) => block.id),
    )
  }
}
