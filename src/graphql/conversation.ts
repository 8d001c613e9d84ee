import { archiveConversation } from '../commands/archive-conversation.ts'
import { createConversation } from '../commands/conversations/create-conversation.ts'
import { deleteConversation } from '../commands/delete-conversation.ts'
import { updateConversation } from '../commands/update-conversation.ts'
import type { Conversation as ConversationShape } from '../domain/conversations/conversation.ts'
import { encodeId } from '../domain/ids.ts'
import { checkedObject } from '../domain/input.ts'
import {
  countConversations,
  listConversationsPage,
  type ConversationFilter as StoredFilter,
  type ConversationOrder as StoredOrder,
} from '../store/conversations/conversation-list.ts'
import type { PageArguments } from '../store/database/page.ts'
import { Agent } from './agent.ts'
import { builder } from './builder.ts'
import { connectionType, pageArguments, pageComplexity, type CountedPage } from './connection.ts'
import type { Context } from './context.ts'
import { loadExisting } from './load-existing.ts'
import { Node, registerNode, requireUuid, uuidOf, uuidsOfFilter } from './node.ts'
import { deletedPayloadType, payloadType } from './payload.ts'

/** Messages, runs and streams add their own fields to the conversation in their modules. */
export const Conversation = builder.objectRef<ConversationShape>('Conversation')
Conversation.implement({
  description: [
    'An exchange with one agent. One run at a time holds the conversation; later runs wait in its queue.',
    '',
    'The turns of a conversation form a tree with one current branch. A turn is one run: its input and the messages it added.',
    '`sendMessage` adds a turn at the end of the current branch. `editMessage` and `regenerate` add another version of an',
    'existing turn, which becomes current. The model sees the current branch only. Nothing is deleted: turns on other',
    'branches stay readable with `Run.versions` and `Run.messages`, and `selectBranch` makes them current again.',
  ].join('\n'),
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
    archivedAt: t.expose('archivedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the conversation was archived. Null if it is not archived.',
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

const ConversationOrder = builder.enumType('ConversationOrder', {
  description: 'Order of a list of conversations.',
  values: {
    CREATED: { description: 'By `createdAt`, oldest first.' },
    LAST_ACTIVITY: { description: 'By `lastActivityAt`, most recent first.' },
  } satisfies Record<StoredOrder, { description: string }>,
})

const ConversationFilter = builder.inputType('ConversationFilter', {
  description: 'Which conversations to list. Omitted fields do not filter; all given fields must match.',
  fields: (t) => ({
    agentIds: t.idList({ description: 'Conversations of one of these agents.' }),
    metadataContains: t.field({
      type: 'JSON',
      description: "JSON object that the metadata must contain, as in Postgres's `@>` operator.",
    }),
    titleContains: t.string({ description: 'Part of the title, ignoring case.' }),
    activeSince: t.field({
      type: 'DateTime',
      description: 'Conversations whose `lastActivityAt` is at or after this time.',
    }),
    archived: t.boolean({
      description: 'True for archived conversations only, false for others only. Omit for both.',
    }),
  }),
})

const listArguments = {
  ...pageArguments,
  ...builder.args((t) => ({
    filter: t.field({ type: ConversationFilter, description: 'Which conversations to list. Omit it for all.' }),
    orderBy: t.field({
      type: ConversationOrder,
      required: true,
      defaultValue: 'CREATED',
      description: 'Order of the list. Defaults to CREATED.',
    }),
  })),
}

/** A page of the tenant's conversations, or of one agent's if it is a field of that agent. */
async function conversationsPage(
  { db, viewer }: Context,
  options: {
    readonly filter: typeof ConversationFilter.$inferInput | null | undefined
    readonly orderBy: StoredOrder
    readonly page: PageArguments
    readonly ofAgent?: string
  },
): Promise<CountedPage<ConversationShape>> {
  const { agentIds: ids, metadataContains, ...given } = options.filter ?? {}
  const agentIds = ids ? uuidsOfFilter('Agent', 'filter.agentIds', ids) : undefined
  const { ofAgent } = options
  const filter: StoredFilter = {
    ...given,
    agentIds: ofAgent === undefined ? agentIds : [ofAgent].filter((id) => agentIds?.includes(id) ?? true),
    metadataContains:
      metadataContains === null || metadataContains === undefined
        ? undefined
        : checkedObject('filter.metadataContains', metadataContains),
  }
  return {
    ...(await listConversationsPage(db, viewer, { filter, orderBy: options.orderBy, page: options.page })),
    countAll: () => countConversations(db, viewer, filter),
  }
}

builder.objectFields(Agent, (t) => ({
  mainConversation: t.field({
    type: Conversation,
    description: 'Conversation that is used when a message names only the agent.',
    resolve: (agent, _args, { loaders }) => loadExisting(loaders.mainConversationOfAgent, 'Agent', agent.id),
  }),
  conversations: t.field({
    type: ConversationConnection,
    description: 'All conversations of the agent, including the main one.',
    args: listArguments,
    complexity: pageComplexity,
    resolve: (agent, { filter, orderBy, ...page }, context) =>
      conversationsPage(context, { filter, orderBy, page, ofAgent: agent.id }),
  }),
}))

builder.queryField('conversations', (t) =>
  t.field({
    type: ConversationConnection,
    description: 'Conversations of all agents.',
    args: listArguments,
    complexity: pageComplexity,
    resolve: (_root, { filter, orderBy, ...page }, context) => conversationsPage(context, { filter, orderBy, page }),
  }),
)

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
    isolatedBlockLabels: t.stringList({
      description:
        "Labels of the agent's blocks to isolate: the conversation gets its own copy of each, starting with the current value. Empty by default.",
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

const ArchiveConversationInput = builder.inputType('ArchiveConversationInput', {
  description: 'The conversation to archive.',
  fields: (t) => ({ id: t.id({ required: true, description: 'Id of the conversation.' }) }),
})

const UnarchiveConversationInput = builder.inputType('UnarchiveConversationInput', {
  description: 'The conversation to take out of the archive.',
  fields: (t) => ({ id: t.id({ required: true, description: 'Id of the conversation.' }) }),
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
  archiveConversation: t.field({
    type: payloadType('ArchiveConversationPayload', 'conversation', Conversation, 'The archived conversation.'),
    nullable: true,
    description: 'Archives a conversation. It keeps working, and the next message takes it out of the archive.',
    args: { input: t.arg({ type: ArchiveConversationInput, required: true, description: 'Conversation to archive.' }) },
    resolve: (_root, { input }, context) =>
      archiveConversation(context, context.viewer, { id: requireUuid('Conversation', input.id), archived: true }),
  }),
  unarchiveConversation: t.field({
    type: payloadType('UnarchiveConversationPayload', 'conversation', Conversation, 'The conversation.'),
    nullable: true,
    description: 'Takes a conversation out of the archive.',
    args: {
      input: t.arg({ type: UnarchiveConversationInput, required: true, description: 'Conversation to unarchive.' }),
    },
    resolve: (_root, { input }, context) =>
      archiveConversation(context, context.viewer, { id: requireUuid('Conversation', input.id), archived: false }),
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
