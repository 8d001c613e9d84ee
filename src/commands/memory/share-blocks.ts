import { checkBlockCount, checkLabels } from '../../domain/agents/agent-parts.ts'
import type { Agent } from '../../domain/agents/agent.ts'
import type { Block } from '../../domain/memory/block.ts'
import { lockAgents } from '../../store/agents/agents.ts'
import { insertAgentBlocks, listBlocksOfAgents } from '../../store/memory/blocks.ts'
import type { Trx } from '../../store/database/schema.ts'
import { listMadeAgentIds } from '../../store/memory/sleeptime-groups.ts'

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
