import { checkedConversation, type ConversationInput } from '../../domain/conversations/conversation-input.ts'
import type { Conversation } from '../../domain/conversations/conversation.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import { setArchived, setConversation } from '../../store/conversations/conversations.ts'
import type { CommandContext } from '../command-context.ts'
import { found } from '../found.ts'

export interface UpdateConversationInput extends ConversationInput {
  readonly id: string
}

/** Omitted fields stay unchanged. Null restores the default. */
export async function updateConversation(
  context: CommandContext,
  viewer: Viewer,
  input: UpdateConversationInput,
): Promise<Conversation> {
  const changes = { ...checkedConversation(input), now: context.clock.now() }
  return found('Conversation', input.id, await setConversation(context.db, viewer, input.id, changes))
}

/** Archived conversations can be filtered out of lists. They keep working, and the next message restores them. */
export async function archiveConversation(
  context: CommandContext,
  viewer: Viewer,
  { id, archived }: { readonly id: string; readonly archived: boolean },
): Promise<Conversation> {
  const now = context.clock.now()
  return found('Conversation', id, await setArchived(context.db, viewer, id, { archived, now }))
}
