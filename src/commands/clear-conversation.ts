import type { Viewer } from '../domain/viewer.ts'
import { clearConversation as clearConversationRows, lockConversationsToDelete } from '../store/conversations.ts'
import { findRunProgress } from '../store/runs.ts'
import { transact } from '../store/transact.ts'
import type { CommandContext } from './command-context.ts'
import { found } from './found.ts'

export type ClearOutcome =
  { readonly outcome: 'cleared' } | { readonly outcome: 'pending approval' | 'busy'; readonly runId: string }

/** Deletes the runs and messages of a conversation. It is refused while a run holds the conversation. */
export async function clearConversation(
  context: CommandContext,
  viewer: Viewer,
  { id }: { readonly id: string },
): Promise<ClearOutcome> {
  return transact(context, async (trx): Promise<ClearOutcome> => {
    const { conversations } = await lockConversationsToDelete(trx, viewer, { id })
    const { activeRunId } = found('Conversation', id, conversations[0])
    if (activeRunId !== null) {
      const progress = await findRunProgress(trx, activeRunId)
      const outcome = progress?.status === 'AWAITING_APPROVAL' ? 'pending approval' : 'busy'
      return { outcome, runId: activeRunId }
    }
    await clearConversationRows(trx, id, context.clock.now())
    return { outcome: 'cleared' }
  })
}
