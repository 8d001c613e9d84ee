import { checkedConversation, type ConversationInput } from '../domain/conversation-input.ts'
import type { Conversation } from '../domain/conversations/conversation.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import { setConversation } from '../store/conversations/conversations.ts'
import type { CommandContext } from './command-context.ts'
import { found } from './found.ts'

export interface UpdateConversationInput extends ConversationInput {
  readonly id: string
}

/** Omitted fields stay unchanged. Null restores the default. */
export async function updateConversation(
  context: CommandContext,
  viewer: Viewer,
  input: UpdateConversationInput,
): Promise<Conversation> {
  const changes = { ...checkedConversation(input), updatedAt: context.clock.now() }
  return found('Conversation', input.id, await setConversation(context.db, viewer, input.id, changes))
}
