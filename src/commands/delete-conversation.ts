import { badUserInput } from '../domain/errors.ts'
import { encodeId } from '../domain/ids.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import { lockConversationsToDelete } from '../store/conversations/conversations.ts'
import { markConversationsDeleted } from '../store/deletions.ts'
import { transact } from '../store/transact.ts'
import type { CommandContext } from './command-context.ts'
import { stopRemovedRuns } from './delete-agent.ts'
import { found } from './found.ts'
import { recordChange } from './record-change.ts'

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
