import { clearConversation } from '../commands/clear-conversation.ts'
import { builder } from './builder.ts'
import { conversationResult, conversationSuccessType } from './conversation-results.ts'
import { requireUuid } from './node.ts'
import { ConversationBusyRefusal, heldRefusal, PendingApprovalRefusal } from './run-results.ts'

const ClearConversationSuccess = conversationSuccessType('ClearConversationSuccess', {
  description: 'The conversation is empty.',
  conversation: 'The conversation.',
})

const ClearConversationResult = builder.unionType('ClearConversationResult', {
  description: 'Result of `clearConversation`.',
  types: [ClearConversationSuccess, PendingApprovalRefusal, ConversationBusyRefusal],
  resolveType: ({ type }) => type,
})

const ClearConversationInput = builder.inputType('ClearConversationInput', {
  description: 'The conversation to clear.',
  fields: (t) => ({ id: t.id({ required: true, description: 'Id of the conversation.' }) }),
})

builder.mutationField('clearConversation', (t) =>
  t.field({
    type: ClearConversationResult,
    nullable: true,
    description:
      'Deletes all messages, runs and files of a conversation, on every branch. Its id, title, metadata and blocks stay. This works for the main conversation too.',
    args: { input: t.arg({ type: ClearConversationInput, required: true, description: 'Conversation to clear.' }) },
    async resolve(_root, { input }, context) {
      const id = requireUuid('Conversation', input.id)
      const result = await clearConversation(context, context.viewer, { id })
      return result.outcome === 'cleared' ? conversationResult('ClearConversationSuccess', id) : heldRefusal(result)
    },
  }),
)
