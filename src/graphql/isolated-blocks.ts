import { Block } from './block.ts'
import { builder } from './builder.ts'
import { Conversation } from './conversation.ts'
import { loadExisting } from './load-existing.ts'

builder.objectField(Conversation, 'blocks', (t) =>
  t.field({
    type: [Block],
    description:
      "Memory blocks in the system prompt: the agent's, with the conversation's own copy in place of each isolated one.",
    resolve: async (conversation, _args, { loaders }) => [
      ...(await loaders.blocksOfConversation.load(conversation.id)),
    ],
  }),
)

builder.objectField(Block, 'conversation', (t) =>
  t.field({
    type: Conversation,
    nullable: true,
    description: 'Conversation that this isolated copy belongs to. Null for a block that is not isolated.',
    resolve: ({ conversationId }, _args, { loaders }) =>
      conversationId === null ? null : loadExisting(loaders.conversations, 'Conversation', conversationId),
  }),
)
