import type { Transaction } from 'kysely'

import type { Agent } from '../domain/agent.ts'
import type { Block } from '../domain/memory/block.ts'
import { insertAgentTools } from '../store/agents/agent-tools.ts'
import { insertAgent } from '../store/agents.ts'
import { insertAgentBlocks, insertBlocks } from '../store/blocks.ts'
import { insertConversation } from '../store/conversations/conversations.ts'
import type { Database } from '../store/database/schema.ts'
import type { CommandContext } from './command-context.ts'

/** The initial tools and blocks of an agent. */
interface Parts {
  readonly newBlocks: readonly Block[]
  readonly sharedBlocks: readonly Block[]
  readonly tools: readonly { readonly toolId: string; readonly approvalOverride: boolean | null }[]
}

export async function insertWholeAgent(
  { ids }: Pick<CommandContext, 'ids'>,
  trx: Transaction<Database>,
  agent: Agent,
  { newBlocks, sharedBlocks, tools }: Parts,
): Promise<void> {
  await insertAgent(trx, agent)
  await insertConversation(trx, {
    id: ids.next(),
    tenantId: agent.tenantId,
    agentId: agent.id,
    isMain: true,
    title: null,
    metadata: {},
    createdAt: agent.createdAt,
  })
  await insertBlocks(trx, newBlocks)
  await insertAgentBlocks(
    trx,
    agent.id,
    [...newBlocks, ...sharedBlocks].map((block) => block.id),
  )
  await insertAgentTools(
    trx,
    agent.id,
    tools.map((tool) => ({ ...tool, id: ids.next() })),
  )
}
