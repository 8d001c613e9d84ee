import { clearConversation } from '../../commands/conversations/conversation.ts'
import { forkConversation } from '../../commands/conversations/fork-conversation.ts'
import { id, json, objectType, string } from '../fields.ts'
import { linkTo } from '../load-existing.ts'
import { idempotencyKeyField, idInput, mutation, outcomes } from '../mutation.ts'
import { requireUuid } from '../node.ts'
import { heldOutcomes } from '../runs/run-results.ts'
import { Conversation } from './conversation.ts'

mutation('forkConversation', {
  description: [
    'Copies the turns up to and including the turn of a message into a new conversation, with files and isolated blocks.',
    'Copied runs get new ids and count no usage.',
  ].join('\n'),
  input: {
    description: 'A conversation to create from part of another.',
    fields: {
      messageId: id.required('Id of a message, on any branch. Its turn is the last one to be copied.'),
      title: string('Title of the new conversation, at most 500 characters. Null means none.'),
      metadata: json('Metadata of the new conversation, at most 64 KB. Empty by default.'),
      idempotencyKey: idempotencyKeyField,
    },
  },
  result: outcomes(
    {
      forked: objectType('ForkConversationSuccess', {
        description: 'The turns were copied.',
        fields: { conversation: linkTo(Conversation, 'conversationId', 'The new conversation.') },
      }),
      ...heldOutcomes,
    },
    'It is refused only while the turn to fork after is in progress.',
  ),
  resolve: (input, context) =>
    forkConversation(context, context.viewer, { ...input, messageId: requireUuid('Message', input.messageId) }),
})

mutation('clearConversation', {
  description:
    'Deletes all messages, runs and files of a conversation, on every branch. Its id, title, metadata and blocks stay. This works for the main conversation too.',
  input: idInput('Conversation', 'The conversation to clear.'),
  result: outcomes({
    cleared: objectType('ClearConversationSuccess', {
      description: 'The conversation is empty.',
      fields: { conversation: linkTo(Conversation, 'conversationId', 'The conversation.') },
    }),
    ...heldOutcomes,
  }),
  async resolve(input, context) {
    const conversationId = requireUuid('Conversation', input.id)
    const result = await clearConversation(context, context.viewer, { id: conversationId })
    return { conversationId, ...result }
  },
})
