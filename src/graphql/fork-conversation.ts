import { forkConversation } from '../commands/fork-conversation.ts'
import { builder } from './builder.ts'
import { conversationResult, conversationSuccessType } from './conversation-results.ts'
import { requireUuid } from './node.ts'
import { ConversationBusyRefusal, heldRefusal, PendingApprovalRefusal } from './run-results.ts'

const ForkConversationSuccess = conversationSuccessType('ForkConversationSuccess', {
  description: 'The turns were copied.',
  conversation: 'The new conversation.',
})

const ForkConversationResult = builder.unionType('ForkConversationResult', {
  description: 'Result of `forkConversation`. It is refused only while the turn to fork after is in progress.',
  types: [ForkConversationSuccess, PendingApprovalRefusal, ConversationBusyRefusal],
  resolveType: ({ type }) => type,
})

const ForkConversationInput = builder.inputType('ForkConversationInput', {
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
  }),
})

builder.mutationField('forkConversation', (t) =>
  t.field({
    type: ForkConversationResult,
    nullable: true,
    description: [
      'Copies the turns up to and including the turn of a message into a new conversation, with files and isolated blocks.',
      'Copied runs get new ids and count no usage.',
    ].join('\n'),
    args: {
      input: t.arg({
        type: ForkConversationInput,
        required: true,
        description: 'The message to fork after, and settings of the new conversation.',
      }),
    },
    async resolve(_root, { input }, context) {
      const messageId = requireUuid('Message', input.messageId)
      const result = await forkConversation(context, context.viewer, { ...input, messageId })
      return result.outcome === 'forked'
        ? conversationResult('ForkConversationSuccess', result.conversationId)
        : heldRefusal(result)
    },
  }),
)
