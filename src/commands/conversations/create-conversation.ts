import { isolatedCopy, type Block } from '../../domain/memory/block.ts'
import { checkedConversation, type ConversationInput } from '../../domain/conversations/conversation-input.ts'
import type { Conversation } from '../../domain/conversations/conversation.ts'
import { badUserInput } from '../../domain/errors.ts'
import { shown } from '../../domain/input.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import { shareAgent } from '../../store/agents/agents.ts'
import { insertBlocks, listBlocksOfAgents } from '../../store/memory/blocks.ts'
import { findConversations, insertConversation } from '../../store/conversations/conversations.ts'
import type { Trx } from '../../store/database/schema.ts'
import type { CommandContext } from '../command-context.ts'
import { createOnce, type Creation } from '../create-once.ts'
import { found } from '../found.ts'

export interface CreateConversationInput extends ConversationInput {
  readonly agentId: string
  /** Labels of the blocks of which the conversation gets its own copies. */
  readonly isolatedBlockLabels?: readonly string[] | null | undefined
  readonly idempotencyKey?: string | null | undefined
}

export async function createConversation(
  context: CommandContext,
  viewer: Viewer,
  input: CreateConversationInput,
): Promise<Conversation> {
  const { tenantId } = viewer
  const { title, metadata } = checkedConversation(input)
  const creation: Creation<Conversation> = {
    mutation: 'createConversation',
    kind: 'Conversation',
    input,
    defaults: { metadata: {}, isolatedBlockLabels: [] },
    find: findConversations,
  }
  return createOnce(context, viewer, creation, async (trx) => {
    // Conversations of one agent can be created in parallel, but the agent cannot be deleted meanwhile.
    const agent = found('Agent', input.agentId, await shareAgent(trx, viewer, input.agentId))
    const blocks = await blocksToIsolate(trx, { id: agent.id, tenantId }, input.isolatedBlockLabels ?? [])
    const now = context.clock.now()
    const conversation = await insertConversation(trx, {
      id: context.ids.next(),
      tenantId,
      agentId: agent.id,
      isMain: false,
      title: title ?? null,
      metadata: metadata ?? {},
      createdAt: now,
    })
    const copies = blocks.map((block) => isolatedCopy(block, { id: context.ids.next(), of: conversation, now }))
    await insertBlocks(trx, copies)
    return conversation
  })
}

async function blocksToIsolate(
  trx: Trx,
  { id: agentId, tenantId }: { readonly id: string; readonly tenantId: string },
  labels: readonly string[],
): Promise<Block[]> {
  if (labels.length === 0) return []
  const owned = (await listBlocksOfAgents(trx, { tenantId }, [agentId])).map(({ block }) => block)
  return [...new Set(labels)].map((label) => {
    const block = owned.find((one) => one.label === label)
    if (block) return block
    throw badUserInput(
      'input.isolatedBlockLabels',
      `The agent has no block labelled ${shown(label)}. Expected labels of its blocks: ${owned.map((one) => one.label).join(', ') || 'it has none'}.`,
    )
  })
}
