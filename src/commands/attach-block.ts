import { checkBlockCount, checkLabels } from '../domain/agent-parts.ts'
import type { Agent } from '../domain/agent.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import { lockAgent, setAgent } from '../store/agents.ts'
import { insertAgentBlocks, listBlocksOfAgents, lockBlocks } from '../store/blocks.ts'
import { transact } from '../store/transact.ts'
import type { CommandContext } from './command-context.ts'
import { allFound, found } from './found.ts'
import { recordChange, shownBlockIds } from './record-change.ts'
import { shareBlocks } from './memory/share-blocks.ts'

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
    await recordChange(context, trx, viewer, { action: 'attachBlock', subject: ['Agent', stored.id], ...change })
    const agent = { ...stored, updatedAt: context.clock.now() }
    await setAgent(trx, agent)
    return agent
  })
}
