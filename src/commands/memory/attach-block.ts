import { checkBlockCount, checkLabels } from '../../domain/agents/agent-parts.ts'
import type { Agent } from '../../domain/agents/agent.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import { lockAgent } from '../../store/agents/agents.ts'
import { deleteAgentBlocks, insertAgentBlocks, listBlocksOfAgents, lockBlocks } from '../../store/memory/blocks.ts'
import { transact } from '../../store/database/transact.ts'
import type { CommandContext } from '../command-context.ts'
import { allFound, found } from '../found.ts'
import { shownBlockIds, storeAgent } from '../record-change.ts'
import { shareBlocks } from './share-blocks.ts'

/** Nothing changes if the agent already has the block. */
export async function attachBlock(
  context: CommandContext,
  viewer: Viewer,
  input: { readonly agentId: string; readonly blockId: string },
): Promise<Agent> {
  return transact(context, async (trx) => {
    const [block] = allFound('Block', [input.blockId], await lockBlocks(trx, viewer, [input.blockId]))
    const stored = found('Agent', input.agentId, await lockAgent(trx, viewer, input.agentId))
    const attached = (await listBlocksOfAgents(trx, viewer, [stored.id])).map((owned) => owned.block)
    if (attached.some((owned) => owned.id === input.blockId)) return stored
    checkBlockCount('input.blockId', attached.length + 1)
    checkLabels('input.blockId', [...attached, block!])
    await insertAgentBlocks(trx, stored.id, [input.blockId])
    await shareBlocks(trx, stored, { field: 'input.blockId', blocks: [block!] })
    const change = { before: null, after: { blockIds: shownBlockIds([block!]) } }
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
    const blocks = allFound('Block', [input.blockId], await lockBlocks(trx, viewer, [input.blockId]))
    const stored = found('Agent', input.agentId, await lockAgent(trx, viewer, input.agentId))
    if (!(await deleteAgentBlocks(trx, stored.id, { blockId: input.blockId }))) return stored
    const change = { before: { blockIds: shownBlockIds(blocks) }, after: null }
    return storeAgent(context, trx, viewer, stored, { action: 'detachBlock', ...change })
  })
}
