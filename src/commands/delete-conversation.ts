import { badUserInput } from '../domain/errors.ts'
import { encodeId } from '../domain/ids.ts'
import type { Viewer } from '../domain/viewer.ts'
import { deleteConversation as deleteConversationRow, lockConversationsToDelete } from '../store/conversations.ts'
import { transact } from '../store/transact.ts'
import type { CommandContext } from './command-context.ts'
import { found } from './found.ts'
import { recordChange } from './record-change.ts'

/**
 * Deletes the conversation with its runs and messages. A worker that drives one of the runs finds the row gone at its
 * next checkpoint, and stops.
 */
export async function deleteConversation(
  context: CommandContext,
  viewer: Viewer,
  input: { id: string },
): Promise<void> {
  const { unfinishedRunIds } = await transact(context, async (trx) => {
    const locked = await lockConversationsToDelete(trx, viewer, input)
    const conversation = found(
      'Conversation',
      input.id,
      locked.conversations.find(({ id }) => id === input.id),
    )
    if (conversation.isMain)
      throw badUserInput(
        'input.id',
        "It is the agent's main conversation, which every agent has. Delete the agent, or talk in a conversation made by createConversation and delete that.",
      )
    await deleteConversationRow(trx, viewer, input.id)
    const { agentId, title, metadata } = conversation
    await recordChange(context, trx, viewer, {
      action: 'deleteConversation',
      subject: ['Conversation', input.id],
      before: { agentId: encodeId('Agent', agentId), title, metadata },
      after: null,
    })
    return locked
  })
  for (const runId of unfinishedRunIds) {
    context.hub.requestStop(runId)
    context.hub.runChanged(runId)
  }
}
