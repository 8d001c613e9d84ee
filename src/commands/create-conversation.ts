import { checkedConversation, type ConversationInput } from '../domain/conversation-input.ts'
import type { Conversation } from '../domain/conversation.ts'
import type { Viewer } from '../domain/viewer.ts'
import { shareAgent } from '../store/agents.ts'
import { insertConversation } from '../store/conversations.ts'
import { transact } from '../store/transact.ts'
import type { CommandContext } from './command-context.ts'
import { found } from './found.ts'

export interface CreateConversationInput extends ConversationInput {
  readonly agentId: string
}

export async function createConversation(
  context: CommandContext,
  viewer: Viewer,
  input: CreateConversationInput,
): Promise<Conversation> {
  const { tenantId } = viewer
  const { title, metadata } = checkedConversation(input)
  return transact(context, async (trx) => {
    // Conversations of one agent are created in parallel; the agent cannot be deleted meanwhile.
    const agent = found('Agent', input.agentId, await shareAgent(trx, viewer, input.agentId))
    return insertConversation(trx, {
      id: context.ids.next(),
      tenantId,
      agentId: agent.id,
      isMain: false,
      title: title ?? null,
      metadata: metadata ?? {},
      createdAt: context.clock.now(),
    })
  })
}
