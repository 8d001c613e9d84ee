import {
  createConversation,
  deleteConversation,
  archiveConversation,
  updateConversation,
} from '../../commands/conversations/conversation.ts'
import type { Conversation as ConversationShape } from '../../domain/conversations/conversation.ts'
import { givenObject } from '../../domain/input.ts'
import {
  type ConversationFilter as StoredFilter,
  type ConversationOrder as StoredOrder,
  listConversationsPage,
} from '../../store/conversations/conversation-list.ts'
import type { Page, PageArguments } from '../../store/database/page.ts'
import { Agent } from '../agents/agent.ts'
import { builder } from '../builder.ts'
import { connectionType, filterBy, pageOf } from '../connection.ts'
import type { Context } from '../context.ts'
import { describedEnum } from '../described-enum.ts'
import { boolean, given, id, ids, implement, json, of, string, strings, time } from '../fields.ts'
import { linkTo, loadExisting } from '../load-existing.ts'
import { deletion, idempotencyKeyField, idInput, mutation, payload } from '../mutation.ts'
import { Node, queryById, requireUuid, uuidsOfFilter } from '../node.ts'

/** Messages, runs and streams add their own fields to the conversation in their modules. */
export const Conversation = builder.objectRef<ConversationShape>('Conversation')
implement(Conversation, {
  description: [
    'An exchange with one agent. One run at a time holds the conversation; later runs wait in its queue.',
    '',
    'The turns of a conversation form a tree with one current branch. A turn is one run: its input and the messages it added.',
    '`sendMessage` adds a turn at the end of the current branch. `editMessage` and `regenerate` add another version of an',
    'existing turn, which becomes current. The model sees the current branch only. Nothing is deleted: turns on other',
    'branches stay readable with `Run.versions` and `Run.messages`, and `selectBranch` makes them current again.',
  ].join('\n'),
  interfaces: [Node],
  fields: () => ({
    agent: linkTo(Agent, 'agentId', 'Agent that the conversation is with.'),
    title: string.orNull('Display title. Null if there is none.'),
    metadata: json("JSON object for the client's own use. Empty by default."),
    archivedAt: time.orNull('When the conversation was archived. Null if it is not archived.'),
    createdAt: time('When the conversation was created.'),
    updatedAt: time("When the conversation's title, metadata or state last changed."),
  }),
})

queryById(Conversation, 'Conversation')

const ConversationConnection = connectionType('Conversation', Conversation)

const ConversationOrder = describedEnum<StoredOrder>('ConversationOrder', 'Order of a list of conversations.', {
  CREATED: 'By `createdAt`, oldest first.',
  LAST_ACTIVITY: 'By `lastActivityAt`, most recent first.',
})

const ConversationFilter = builder.inputType('ConversationFilter', {
  description: 'Which conversations to list. Omitted fields do not filter; all given fields must match.',
  fields: given({
    agentIds: ids('Conversations of one of these agents.'),
    metadataContains: json("JSON object that the metadata must contain, as in Postgres's `@>` operator."),
    titleContains: string('Part of the title, ignoring case.'),
    activeSince: time('Conversations whose `lastActivityAt` is at or after this time.'),
    archived: boolean('True for archived conversations only, false for others only. Omit for both.'),
  }),
})

const listArguments = {
  ...filterBy(ConversationFilter, 'conversations'),
  orderBy: of(ConversationOrder).withDefault('CREATED', 'Order of the list. Defaults to CREATED.'),
}

/** A page of the tenant's conversations, or of one agent's if it is a field of that agent. */
function conversationsPage(
  { db, viewer }: Context,
  options: {
    readonly filter: typeof ConversationFilter.$inferInput | null | undefined
    readonly orderBy: StoredOrder
    readonly page: PageArguments
    readonly ofAgent?: string
  },
): Promise<Page<ConversationShape>> {
  const { agentIds: ids, metadataContains, ...given } = options.filter ?? {}
  const agentIds = ids ? uuidsOfFilter('Agent', 'filter.agentIds', ids) : undefined
  const { ofAgent } = options
  const filter: StoredFilter = {
    ...given,
    agentIds: ofAgent === undefined ? agentIds : [ofAgent].filter((id) => agentIds?.includes(id) ?? true),
    metadataContains: givenObject('filter.metadataContains', metadataContains),
  }
  return listConversationsPage(db, viewer, { filter, orderBy: options.orderBy, page: options.page })
}

builder.objectFields(Agent, (t) => ({
  mainConversation: t.field({
    ...of(Conversation)('Conversation that is used when a message names only the agent.'),
    resolve: (agent, _args, { loaders }) => loadExisting(loaders.mainConversationOfAgent, 'Agent', agent.id),
  }),
  conversations: t.field({
    ...pageOf(ConversationConnection, 'All conversations of the agent, including the main one.', listArguments),
    resolve: (agent, { filter, orderBy, ...page }, context) =>
      conversationsPage(context, { filter, orderBy, page, ofAgent: agent.id }),
  }),
}))

builder.queryField('conversations', (t) =>
  t.field({
    ...pageOf(ConversationConnection, 'Conversations of all agents.', listArguments),
    resolve: (_root, { filter, orderBy, ...page }, context) => conversationsPage(context, { filter, orderBy, page }),
  }),
)

mutation('createConversation', {
  description: 'Creates a conversation with an agent.',
  input: {
    description: 'A new conversation.',
    fields: {
      agentId: id.required('Id of the agent.'),
      title: string('Display title, at most 500 characters.'),
      metadata: json("JSON object for the client's own use, at most 64 KB. Empty by default."),
      isolatedBlockLabels: strings(
        "Labels of the agent's blocks to isolate: the conversation gets its own copy of each, starting with the current value. Empty by default.",
      ),
      idempotencyKey: idempotencyKeyField,
    },
  },
  result: payload('conversation', Conversation, 'The new conversation.'),
  resolve: (input, context) =>
    createConversation(context, context.viewer, { ...input, agentId: requireUuid('Agent', input.agentId) }),
})

mutation('updateConversation', {
  description: 'Changes the title or metadata of a conversation.',
  input: {
    description: 'Changes to a conversation. Omitted fields stay unchanged.',
    fields: {
      id: id.required('Id of the conversation.'),
      title: string('Display title, at most 500 characters. Null removes it.'),
      metadata: json(
        "JSON object for the client's own use, at most 64 KB. It replaces the whole object; null empties it.",
      ),
    },
  },
  result: payload('conversation', Conversation, 'The changed conversation.'),
  resolve: (input, context) =>
    updateConversation(context, context.viewer, { ...input, id: requireUuid('Conversation', input.id) }),
})

mutation('archiveConversation', {
  description: 'Archives a conversation. It keeps working, and the next message takes it out of the archive.',
  input: idInput('Conversation', 'The conversation to archive.'),
  result: payload('conversation', Conversation, 'The archived conversation.'),
  resolve: ({ id }, context) =>
    archiveConversation(context, context.viewer, { id: requireUuid('Conversation', id), archived: true }),
})

mutation('unarchiveConversation', {
  description: 'Takes a conversation out of the archive.',
  input: idInput('Conversation', 'The conversation to take out of the archive.'),
  result: payload('conversation', Conversation, 'The conversation.'),
  resolve: ({ id }, context) =>
    archiveConversation(context, context.viewer, { id: requireUuid('Conversation', id), archived: false }),
})

deletion('deleteConversation', {
  description:
    'Deletes a conversation with its content and stops its run. A main conversation can be deleted only with its agent.',
  kind: 'Conversation',
  command: deleteConversation,
})
