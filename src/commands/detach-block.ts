import type { Agent } from '../domain/agent.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import { lockAgent, setAgent } from '../store/agents.ts'
import { deleteAgentBlocks, lockBlocks } from '../store/blocks.ts'
import { transact } from '../store/transact.ts'
import type { CommandContext } from './command-context.ts'
import { allFound, found } from './found.ts'
import { recordChange, shownBlockIds } from './record-change.ts'

/** Keeps the block. Nothing changes if the agent does not have it. */
export async function detachBlock(
  context: CommandContext,
  viewer: Viewer,
  input: { readonly agentId: string; readonly blockId: string },
): Promise<Agent> {
  return transact(context, async (trx) => {
    const blocks = allFound('Block', [input.blockId], await lockBlocks(trx, viewer, [input.blockId]))
    const stored = found('Agent', input.agentId, await lockAgent(trx, viewer, input.agentId))
    if (await deleteAgentBlocks(trx, stored.id, { blockId: input.blockId })) {
      const change = { before: { blockIds: shownBlockIds(blocks) }, after: null }
      await recordChange(context, trx, viewer, { action: 'detachBlock', subject: ['Agent', stored.id], ...change })
    }
    const agent = { ...stored, updatedAt: context.clock.now() }
    await setAgent(trx, agent)
    return agent
  })
}
