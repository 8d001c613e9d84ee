import { checkedConversation, type ConversationInput } from '../domain/conversation-input.ts'
import { hasEnded } from '../domain/run.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import { lockConversationToCopy } from '../store/conversations/conversations.ts'
import { forkConversation as forkConversationRows } from '../store/conversations/fork-conversation.ts'
import { findMessages } from '../store/conversations/messages.ts'
import { findRuns } from '../store/runs/runs.ts'
import { transact } from '../store/transact.ts'
import type { HeldRefusal } from './branch-refusal.ts'
import type { CommandContext } from './command-context.ts'
import { found } from './found.ts'

export interface ForkConversationInput extends ConversationInput {
  readonly messageId: string
}

export type ForkOutcome = { readonly outcome: 'forked'; readonly conversationId: string } | HeldRefusal

/**
 * Copies the turns up to the one of a message into a new conversation. Turns that are over do not change, except that a
 * failed one may be retried, which the copying statement notices. The lock protects the files: a clear or delete that
 * commits during the copy would remove their content.
 */
export async function forkConversation(
  context: CommandContext,
  viewer: Viewer,
  { messageId, ...input }: ForkConversationInput,
): Promise<ForkOutcome> {
  const { db, ids, clock } = context
  const { title = null, metadata = {} } = checkedConversation(input)
  for (;;) {
    const [message] = await findMessages(db, viewer, [messageId])
    const { runId } = found('Message', messageId, message)
    const [run] = await findRuns(db, viewer, [runId])
    const { status, hold, conversationId } = found('Message', messageId, run)
    if (!hasEnded(status)) {
      return { outcome: status === 'AWAITING_APPROVAL' ? 'pending approval' : 'busy', runId }
    }
    const id = ids.next()
    const forked = await transact(context, async (trx) => {
      if (!(await lockConversationToCopy(trx, conversationId))) return false
      return forkConversationRows(trx, {
        conversationId,
        // A run with messages has held the conversation.
        hold: hold!,
        ids: { conversation: id, runs: ids.next(), messages: ids.next(), calls: ids.next(), blocks: ids.next() },
        title,
        metadata,
        now: clock.now(),
      })
    })
    if (forked) return { outcome: 'forked', conversationId: id }
  }
}
