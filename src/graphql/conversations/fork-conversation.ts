import { forkConversation } from '../../commands/conversations/fork-conversation.ts'
import { idInput, idempotencyKeyField, mutation, outcomes, successType } from '../mutation.ts'
import { requireUuid } from '../node.ts'
import { ConversationBusyRefusal, PendingApprovalRefusal, heldRefusal } from '../runs/run-results.ts'
import { clearConversation } from '../../commands/conversations/delete-conversation.ts'
import { linkTo } from '../load-existing.ts'
import { Conversation } from './conversation.ts'

const ForkConversationSuccess = conversationSuccessType('ForkConversationSuccess', {
  description: 'The turns were copied.',
  conversation: 'The new conversation.',
})

mutation('forkConversation', {
  description: [
    'Copies the turns up to and including the turn of a message into a new conversation, with files and isolated blocks.',
    'Copied runs get new ids and count no usage.',
  ].join('\n'),
  input: {
    description: 'A conversation to create from part of another.',
    fields: (t) => ({
      messageId: t.id({
        required: true,
        description: 'Id of a message, on any branch. Its turn is the last one to be copied.',
      }),
      title: t.string({ description: 'Title of the new conversation, at most 500 characters. Null means none.' }),
      metadata: t.field({
        type: 'JSON',
        description: 'Metadata of the new conversation, at most 64 KB. Empty by default.',
      }),
      idempotencyKey: t.string(idempotencyKeyField),
    }),
  },
  result: outcomes(
    [ForkConversationSuccess, PendingApprovalRefusal, ConversationBusyRefusal],
    'It is refused only while the turn to fork after is in progress.',
  ),
  async resolve(input, context) {
    const messageId = requireUuid('Message', input.messageId)
    const result = await forkConversation(context, context.viewer, { ...input, messageId })
    return result.outcome === 'forked'
      ? conversationResult('ForkConversationSuccess', result.conversationId)
      : heldRefusal(result)
  },
})

const ClearConversationSuccess = conversationSuccessType('ClearConversationSuccess', {
  description: 'The conversation is empty.',
  conversation: 'The conversation.',
})

mutation('clearConversation', {
  description:
    'Deletes all messages, runs and files of a conversation, on every branch. Its id, title, metadata and blocks stay. This works for the main conversation too.',
  input: idInput('Conversation', 'The conversation to clear.'),
  result: outcomes([ClearConversationSuccess, PendingApprovalRefusal, ConversationBusyRefusal]),
  async resolve(input, context) {
    const id = requireUuid('Conversation', input.id)
    const result = await clearConversation(context, context.viewer, { id })
    return result.outcome === 'cleared' ? conversationResult('ClearConversationSuccess', id) : heldRefusal(result)
  },
})

/** A mutation that succeeded and shows a conversation. */
export function conversationSuccessType<Name extends string>(
  name: Name,
  { description, conversation }: { readonly description: string; readonly conversation: string },
) {
  return successType<Name, { readonly conversationId: string }>(name, description, (t) => ({
    conversation: t.field(linkTo(Conversation, 'conversationId', conversation)),
  }))
}

export function conversationResult<Name extends string>(type: Name, conversationId: string) {
  return { type, conversationId }
}
