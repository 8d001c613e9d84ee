import type { Viewer } from '../domain/access/viewer.ts'
import { clearConversation as clearConversationRows, lockConversationsToDelete } from '../store/conversations/conversations.ts'
import { transact } from '../store/transact.ts'
import { refusalWhileHeld, type HeldRefusal } from './branch-refusal.ts'
import type { CommandContext } from './command-context.ts'
import { found } from './found.ts'
import { recordAct } from './record-change.ts'

export type ClearOutcome = { readonly outcome: 'cleared' } | HeldRefusal

/** Deletes the runs and messages of a conversation. Refused while a run holds the conversation. */
export async function clearConversation(
  context: CommandContext,
  viewer: Viewer,
  { id }: { readonly id: string },
): Promise<ClearOutcome> {
  return transact(context, async (trx, afterCommit): Promise<ClearOutcome> => {
    const conversations = await lockConversationsToDelete(trx, viewer, { id })
    const { activeRunId } = found(
      'Conversation',
      id,
      conversations.find((conversation) => conversation.id === id),
    )
    const refusal = await refusalWhileHeld(trx, activeRunId)
    if (refusal) return refusal
    await clearConversationRows(trx, id, context.clock.now())
    await recordAct(context, trx, viewer, { action: 'clearConversation', subject: ['Conversation', id] })
    const { tenantId } = viewer
    afterCommit(() => context.hub.announce({ runId: null, tenantId, conversationId: id, status: null, calls: false }))
    return { outcome: 'cleared' }
  })
}
