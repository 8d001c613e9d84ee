import { checkedConversation, type ConversationInput } from '../../domain/conversations/conversation-input.ts'
import { hasEnded } from '../../domain/runs/run.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import { findConversations, lockConversationToCopy } from '../../store/conversations/conversations.ts'
import { forkConversation as forkConversationRows } from '../../store/conversations/fork-conversation.ts'
import { findMessages } from '../../store/conversations/messages.ts'
import { findRuns } from '../../store/runs/runs.ts'
import { transact } from '../../store/database/transact.ts'
import { heldRefusal, type HeldRefusal } from './select-branch.ts'
import type { CommandContext } from '../command-context.ts'
import { found, foundOne } from '../found.ts'
import { findEarlier, keyedInput, remember, withDefaults } from '../idempotency.ts'

export interface ForkConversationInput extends ConversationInput {
  readonly messageId: string
  readonly idempotencyKey?: string | null | undefined
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
  input: ForkConversationInput,
): Promise<ForkOutcome> {
  const { ids, clock } = context
  const { messageId } = input
  const { title = null, metadata = {} } = checkedConversation(input)
  const keyed = keyedInput(viewer, 'forkConversation', withDefaults(input, { metadata: {} }))
  return transact(context, async (trx): Promise<ForkOutcome> => {
    const now = clock.now()
    const [earlier] = (await findEarlier(trx, keyed, now)) ?? []
    if (earlier) {
      const [conversation] = await findConversations(trx, viewer, [earlier])
      return { outcome: 'forked', conversationId: found('Conversation', earlier, conversation).id }
    }
    for (;;) {
      const { runId } = await foundOne('Message', messageId, findMessages(trx, viewer, [messageId]))
      const { status, stopReason, hold, conversationId } = await foundOne(
        'Message',
        messageId,
        findRuns(trx, viewer, [runId]),
      )
      if (!hasEnded(status)) return heldRefusal(runId, { status, stopReason })
      if (!(await lockConversationToCopy(trx, conversationId))) continue
      const id = ids.next()
      const forked = await forkConversationRows(trx, {
        conversationId,
        // A run with messages has held the conversation.
        hold: hold!,
        ids: { conversation: id, runs: ids.next(), messages: ids.next(), calls: ids.next(), blocks: ids.next() },
        title,
        metadata,
        now,
      })
      if (!forked) continue
      await remember(trx, keyed, { objectIds: [id], now })
      return { outcome: 'forked', conversationId: id }
    }
  })
}
