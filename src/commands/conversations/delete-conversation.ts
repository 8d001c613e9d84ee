import { badUserInput } from '../../domain/errors.ts'
import { encodeId } from '../../domain/ids.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import {
  clearConversation as clearConversationRows,
  lockConversationsToDelete,
} from '../../store/conversations/conversations.ts'
import { markConversationsDeleted } from '../../store/deletions.ts'
import { disableSchedules } from '../../store/schedules/schedules.ts'
import { transact } from '../../store/database/transact.ts'
import { conversationGone } from '../schedules/run-schedule.ts'
import type { CommandContext } from '../command-context.ts'
import { tellFailure } from '../schedules/tell-failure.ts'
import { stopRemovedRuns } from '../agents/delete-agent.ts'
import { found } from '../found.ts'
import { recordAct, recordChange } from '../record-change.ts'
import { refusalWhileHeld, type HeldRefusal } from './branch-refusal.ts'

/**
 * Deletes the conversation with its runs and messages. A worker that drives one of the runs finds the row gone at its
 * next checkpoint, and stops. Other rows are deleted in the background.
 */
export async function deleteConversation(
  context: CommandContext,
  viewer: Viewer,
  input: { id: string },
): Promise<void> {
  const runIds = await transact(context, async (trx) => {
    const conversations = await lockConversationsToDelete(trx, viewer, input)
    const conversation = found(
      'Conversation',
      input.id,
      conversations.find(({ id }) => id === input.id),
    )
    if (conversation.isMain)
      throw badUserInput(
        'input.id',
        "It is the agent's main conversation, which every agent has. Delete the agent, or talk in a conversation made by createConversation and delete that.",
      )
    const unfinished = await markConversationsDeleted(trx, input, context.clock.now())
    for (const schedule of await disableSchedules(trx, { conversationId: input.id }, conversationGone))
      await tellFailure(trx, schedule, context.clock.now())
    const { agentId, title, metadata } = conversation
    await recordChange(context, trx, viewer, {
      action: 'deleteConversation',
      subject: ['Conversation', input.id],
      before: { agentId: encodeId('Agent', agentId), title, metadata },
      after: null,
    })
    return unfinished
  })
  stopRemovedRuns(context, runIds)
}

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
