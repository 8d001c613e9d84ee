import { clearConversation } from '../commands/clear-conversation.ts'
import { builder } from './builder.ts'
import { Conversation } from './conversation.ts'
import { loadExisting } from './load-existing.ts'
import { requireUuid } from './node.ts'
import { ConversationBusyRefusal, conversationBusy, pendingApproval, PendingApprovalRefusal } from './run-results.ts'

const ClearConversationSuccess = builder.objectRef<{
  readonly type: 'ClearConversationSuccess'
  readonly conversationId: string
}>('ClearConversationSuccess')
ClearConversationSuccess.implement({
  description: 'The conversation is empty.',
  fields: (t) => ({
    conversation: t.field({
      type: Conversation,
      description: 'The conversation.',
      resolve: ({ conversationId }, _args, { loaders }) =>
        loadExisting(loaders.conversations, 'Conversation', conversationId),
    }),
  }),
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
      'Deletes all messages and runs of a conversation. Its id, title and metadata stay. This works for the main conversation too. It is refused while a run holds the conversation.',
    args: { input: t.arg({ type: ClearConversationInput, required: true, description: 'Conversation to clear.' }) },
    async resolve(_root, { input }, context) {
      const id = requireUuid('Conversation', input.id)
      const result = await clearConversation(context, context.viewer, { id })
      switch (result.outcome) {
        case 'cleared':
          return { type: 'ClearConversationSuccess' as const, conversationId: id }
        case 'pending approval':
          return pendingApproval(result.runId)
        case 'busy':
          return conversationBusy(result.runId)
        default:
          return result satisfies never
      }
    },
  }),
)
