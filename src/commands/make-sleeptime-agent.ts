import type { Transaction } from 'kysely'

import { checkBlockCount } from '../domain/agent-parts.ts'
import type { Agent } from '../domain/agent.ts'
import type { Block } from '../domain/memory/block.ts'
import { personaLabel, sleeptimeAgentOf, sleeptimePersona, sleeptimeToolNames } from '../domain/memory/sleeptime-agent.ts'
import { listBlocksOfAgents } from '../store/blocks.ts'
import type { Database } from '../store/database/schema.ts'
import { listBuiltinTools } from '../store/tools.ts'
import type { CommandContext } from './command-context.ts'
import { insertWholeAgent } from './insert-whole-agent.ts'

/**
 * Makes the sleeptime agent of an agent for which none is named. It shares all blocks of that agent, whose row is
 * locked.
 */
export async function makeSleeptimeAgent(
  { ids, clock }: CommandContext,
  trx: Transaction<Database>,
  foreground: Agent,
): Promise<string> {
  const { tenantId } = foreground
  const now = clock.now()
  const agent = sleeptimeAgentOf(foreground, { id: ids.next(), now })
  const shared = (await listBlocksOfAgents(trx, foreground, [foreground.id])).map(({ block }) => block)
  const own: Block[] = shared.some((block) => block.label === personaLabel)
    ? []
    : [
        {
          ...sleeptimePersona,
          id: ids.next(),
          tenantId,
          version: 1,
          conversationId: null,
          createdAt: now,
          updatedAt: now,
        },
      ]
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
