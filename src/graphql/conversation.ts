import { createConversation } from '../commands/create-conversation.ts'
import { deleteConversation } from '../commands/delete-conversation.ts'
import { updateConversation } from '../commands/update-conversation.ts'
import type { Conversation as ConversationShape } from '../domain/conversation.ts'
import { encodeId } from '../domain/ids.ts'
import { listConversationsPage } from '../store/conversations.ts'
import { Agent } from './agent.ts'
import { builder } from './builder.ts'
import { connectionType, pageArguments, pageComplexity } from './connection.ts'
import { loadExisting } from './load-existing.ts'
import { Node, registerNode, requireUuid, uuidOf } from './node.ts'
import { deletedPayloadType, payloadType } from './payload.ts'

/** Its messages, runs and stream are told by the modules of those nouns. */
export const Conversation = builder.objectRef<ConversationShape>('Conversation')
Conversation.implement({
  description: 'An exchange with one agent. One run at a time holds it.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({ description: 'conv_…', resolve: (conversation) => encodeId('Conversation', conversation.id) }),
    agent: t.field({
      type: Agent,
      description: 'Whom it is with.',
      resolve: (conversation, _args, { loaders }) => loadExisting(loaders.agents, 'Agent', conversation.agentId),
    }),
    title: t.exposeString('title', { nullable: true, description: 'For people. Null where there is none.' }),
    metadata: t.field({
      type: 'JSON',
      description: "A JSON object that is the client's own.",
      resolve: (conversation) => conversation.metadata,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      description: 'When its title, metadata or state last changed.',
    }),
  }),
})

registerNode('Conversation', { load: (context, { uuid }) => context.loaders.conversations.load(uuid) })

const ConversationConnection = connectionType('Conversation', Conversation)

builder.objectFields(Agent, (t) => ({
  mainConversation: t.field({
    type: Conversation,
    description: 'The conversation used when a message names only the agent.',
    resolve: (agent, _args, { loaders }) => loadExisting(loaders.mainConversationOfAgent, 'Agent', agent.id),
  }),
  conversations: t.field({
    type: ConversationConnection,
    description: 'All its conversations, the main one too, oldest first.',
    args: pageArguments,
    complexity: pageComplexity,
    resolve: (agent, page, { db, viewer }) => listConversationsPage(db, viewer.tenantId, agent.id, page),
  }),
}))

builder.queryField('conversation', (t) =>
  t.field({
    type: Conversation,
    nullable: true,
    description: 'The conversation with this id. Null where there is none.',
    args: { id: t.arg.id({ required: true, description: 'conv_…' }) },
    resolve(_root, { id }, context) {
      const uuid = uuidOf('Conversation', id)
      return uuid === undefined ? null : context.loaders.conversations.load(uuid)
    },
  }),
)

const CreateConversationInput = builder.inputType('CreateConversationInput', {
  description: 'A conversation to begin beside the main one.',
  fields: (t) => ({
    agentId: t.id({ required: true, description: 'Whom it is with.' }),
    title: t.string({ description: 'For people, 500 characters at the most.' }),
    metadata: t.field({ type: 'JSON', description: 'A JSON object, 64 KB at the most.' }),
  }),
})

const UpdateConversationInput = builder.inputType('UpdateConversationInput', {
  description: 'What is left out stays as it is; null clears.',
  fields: (t) => ({
    id: t.id({ required: true, description: 'conv_…' }),
    title: t.string({ description: 'For people, 500 characters at the most.' }),
    metadata: t.field({ type: 'JSON', description: 'A JSON object, 64 KB at the most. It replaces the whole of it.' }),
  }),
})

const DeleteConversationInput = builder.inputType('DeleteConversationInput', {
  description: 'Which conversation to delete.',
  fields: (t) => ({ id: t.id({ required: true, description: 'conv_…' }) }),
})

builder.mutationFields((t) => ({
  createConversation: t.field({
    type: payloadType('CreateConversationPayload', 'conversation', Conversation),
    nullable: true,
    description: 'Begins a conversation with an agent.',
    args: { input: t.arg({ type: CreateConversationInput, required: true, description: 'What it is to be.' }) },
    resolve: (_root, { input }, context) =>
      createConversation(context, context.viewer, { ...input, agentId: requireUuid('Agent', input.agentId) }),
  }),
  updateConversation: t.field({
    type: payloadType('UpdateConversationPayload', 'conversation', Conversation),
    nullable: true,
    description: "Changes a conversation's title or metadata.",
    args: { input: t.arg({ type: UpdateConversationInput, required: true, description: 'What changes.' }) },
    resolve: (_root, { input }, context) =>
      updateConversation(context, context.viewer, { ...input, id: requireUuid('Conversation', input.id) }),
  }),
  deleteConversation: t.field({
    type: deletedPayloadType('DeleteConversationPayload'),
    nullable: true,
    description:
      'Deletes a conversation with its runs and messages, and stops the run that holds it. The main conversation goes with its agent alone.',
    args: { input: t.arg({ type: DeleteConversationInput, required: true, description: 'Which one.' }) },
    async resolve(_root, { input }, context) {
      await deleteConversation(context, context.viewer, { id: requireUuid('Conversation', input.id) })
      return input.id
    },
  }),
}))
