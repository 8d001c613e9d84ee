import type { Conversation } from '../domain/conversation.ts'
import type { Viewer } from '../domain/viewer.ts'
import { setArchived } from '../store/conversations.ts'
import type { CommandContext } from './command-context.ts'
import { found } from './found.ts'

/** Archiving hides a conversation from lists that ask for that. It keeps working, and its next message restores it. */
export async function archiveConversation(
  context: CommandContext,
  viewer: Viewer,
  { id, archived }: { readonly id: string; readonly archived: boolean },
): Promise<Conversation> {
  const now = context.clock.now()
  return found('Conversation', id, await setArchived(context.db, viewer, id, { archived, now }))
}
