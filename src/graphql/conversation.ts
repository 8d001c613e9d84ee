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
  description: 'An exchange with one agent. One run at a time holds the conversation; later runs wait in its queue.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({
      description: 'Globally unique and permanent. Begins with conv_.',
      resolve: (conversation) => encodeId('Conversation', conversation.id),
    }),
    agent: t.field({
      type: Agent,
      description: 'Agent that the conversation is with.',
      resolve: (conversation, _args, { loaders }) => loadExisting(loaders.agents, 'Agent', conversation.agentId),
    }),
    title: t.exposeString('title', { nullable: true, description: 'Display title. Null if there is none.' }),
    metadata: t.field({
      type: 'JSON',
      description: "JSON object for the client's own use. Empty by default.",
      resolve: (conversation) => conversation.metadata,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the conversation was created.' }),
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      description: "When the conversation's title, metadata or state last changed.",
    }),
  }),
})

registerNode('Conversation', { load: (context, { uuid }) => context.loaders.conversations.load(uuid) })

const ConversationConnection = connectionType('Conversation', Conversation)

builder.objectFields(Agent, (t) => ({
  mainConversation: t.field({
    type: Conversation,
    description: 'Conversation that is used when a message names only the agent.',
    resolve: (agent, _args, { loaders }) => loadExisting(loaders.mainConversationOfAgent, 'Agent', agent.id),
  }),
  conversations: t.field({
    type: ConversationConnection,
    description: 'All conversations of the agent, including the main one.',
    args: pageArguments,
    complexity: pageComplexity,
    resolve: (agent, page, { db, viewer }) => listConversationsPage(db, viewer.tenantId, agent.id, page),
  }),
}))

builder.queryField('conversation', (t) =>
  t.field({
    type: Conversation,
    nullable: true,
    description: 'Conversation with this id. Null if there is none.',
    args: { id: t.arg.id({ required: true, description: 'Id of the conversation.' }) },
    resolve(_root, { id }, context) {
      const uuid = uuidOf('Conversation', id)
      return uuid === undefined ? null : context.loaders.conversations.load(uuid)
    },
  }),
)

const CreateConversationInput = builder.inputType('CreateConversationInput', {
  description: 'A new conversation.',
  fields: (t) => ({
    agentId: t.id({ required: true, description: 'Id of the agent.' }),
    title: t.string({ description: 'Display title, at most 500 characters.' }),
    metadata: t.field({
      type: 'JSON',
      description: "JSON object for the client's own use, at most 64 KB. Empty by default.",
    }),
  }),
})

const UpdateConversationInput = builder.inputType('UpdateConversationInput', {
  description: 'Changes to a conversation. Omitted fields stay unchanged.',
  fields: (t) => ({
    id: t.id({ required: true, description: 'Id of the conversation.' }),
    title: t.string({ description: 'Display title, at most 500 characters. Null removes it.' }),
    metadata: t.field({
      type: 'JSON',
      description:
        "JSON object for the client's own use, at most 64 KB. It replaces the whole object; null empties it.",
    }),
  }),
})

const DeleteConversationInput = builder.inputType('DeleteConversationInput', {
  description: 'The conversation to delete.',
  fields: (t) => ({ id: t.id({ required: true, description: 'Id of the conversation.' }) }),
})

builder.mutationFields((t) => ({
  createConversation: t.field({
    type: payloadType('CreateConversationPayload', 'conversation', Conversation, 'The new conversation.'),
    nullable: true,
    description: 'Creates a conversation with an agent.',
    args: { input: t.arg({ type: CreateConversationInput, required: true, description: 'The new conversation.' }) },
    resolve: (_root, { input }, context) =>
      createConversation(context, context.viewer, { ...input, agentId: requireUuid('Agent', input.agentId) }),
  }),
  updateConversation: t.field({
    type: payloadType('UpdateConversationPayload', 'conversation', Conversation, 'The changed conversation.'),
    nullable: true,
    description: 'Changes the title or metadata of a conversation.',
    args: {
      input: t.arg({ type: UpdateConversationInput, required: true, description: 'Conversation and new values.' }),
    },
    resolve: (_root, { input }, context) =>
      updateConversation(context, context.viewer, { ...input, id: requireUuid('Conversation', input.id) }),
  }),
  deleteConversation: t.field({
    type: deletedPayloadType('DeleteConversationPayload', 'Id of the deleted conversation.'),
    nullable: true,
    description:
      'Deletes a conversation with its content and stops its run. A main conversation can be deleted only with its agent.',
    args: { input: t.arg({ type: DeleteConversationInput, required: true, description: 'Conversation to delete.' }) },
    async resolve(_root, { input }, context) {
      await deleteConversation(context, context.viewer, { id: requireUuid('Conversation', input.id) })
      return input.id
    },
  }),
}))
