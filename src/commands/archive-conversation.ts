import type { Conversation } from '../domain/conversations/conversation.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import { setArchived } from '../store/conversations/conversations.ts'
import type { CommandContext } from './command-context.ts'
import { found } from './found.ts'

/** Archived conversations can be filtered out of lists. They keep working, and the next message restores them. */
export async function archiveConversation(
  context: CommandContext,
  viewer: Viewer,
  { id, archived }: { readonly id: string; readonly archived: boolean },
): Promise<Conversation> {
  const now = context.clock.now()
  return found('Conversation', id, await setArchived(context.db, viewer, id, { archived, now }))
}
