import type { Conversation as DomainConversation } from '../domain/conversation.ts'
import { encodeCursor } from '../domain/cursor.ts'
import type { ConversationHead } from '../store/conversation-heads.ts'
import { listMessagesPage } from '../store/messages.ts'
import { builder } from './builder.ts'
import { pageArguments, pageComplexity } from './connection.ts'
import { ContextType, viewContext } from './context-view.ts'
import type { Context } from './context.ts'
import { Conversation } from './conversation.ts'
import { beginningOf } from './cursor.ts'
import { loadExisting } from './load-existing.ts'
import { MessageConnection, MessageFilter } from './message.ts'
import { StopReason } from './run-outcome.ts'
import { RunConnection, RunFilter, runsPage } from './run-queries.ts'
import { Run } from './run-refs.ts'

/**
 * Whatever a conversation shows of its runs is read after its head, from which `lastCursor` comes: an event that a
 * field beside it does not show yet must lie beyond the cursor, or a client that follows from there would miss it.
 */
function headOf(conversation: DomainConversation, context: Context): Promise<ConversationHead> {
  return loadExisting(context.loaders.conversationHeads, 'Conversation', conversation.id)
}

builder.objectFields(Conversation, (t) => ({
  messages: t.field({
    type: MessageConnection,
    description: 'All that was said and done in it, oldest first.',
    args: { ...pageArguments, filter: t.arg({ type: MessageFilter, description: 'Which messages to list.' }) },
    complexity: pageComplexity,
    resolve: async (conversation, { filter, ...page }, context) => {
      await headOf(conversation, context)
      const list = { conversationId: conversation.id, types: filter?.types }
      return listMessagesPage(context.db, context.viewer.tenantId, list, page)
    },
  }),
  runs: t.field({
    type: RunConnection,
    description: 'Its runs, newest first.',
    args: { ...pageArguments, filter: t.arg({ type: RunFilter, description: 'Which runs to list.' }) },
    complexity: pageComplexity,
    resolve: async (conversation, { filter, ...page }, context) => {
      await headOf(conversation, context)
      return runsPage(context, { filter, page, of: { conversationId: conversation.id } })
    },
  }),
  activeRun: t.field({
    type: Run,
    nullable: true,
    description: 'The run that holds this conversation: queued, running or paused. Null when it is free.',
    resolve: async (conversation, _args, context) => {
      const { activeRunId } = await headOf(conversation, context)
      return activeRunId === null ? null : context.loaders.runs.load(activeRunId)
    },
  }),
  queue: t.field({
    type: [Run],
    description: 'The runs that wait behind it, in the order in which they will go.',
    resolve: async (conversation, _args, context) => {
      await headOf(conversation, context)
      return [...(await context.loaders.queueOfConversation.load(conversation.id))]
    },
  }),
  context: t.field({
    type: ContextType,
    description: 'What the model would be sent now, and what it weighs.',
    // All of it is read and weighed.
    complexity: 20,
    resolve: async (conversation, _args, context) => {
      await headOf(conversation, context)
      return viewContext(context, conversation.id)
    },
  }),
  lastCursor: t.field({
    type: 'EventCursor',
    description: [
      "The last stored entry of the conversation's stream: never inside a message, never newer than the fields beside it.",
      '`conversationEvents` after it leaves no gap; text that is being written is sent from its first character.',
    ].join('\n'),
    resolve: async (conversation, _args, context) => {
      const { lastEntry } = await headOf(conversation, context)
      return encodeCursor(lastEntry ? { ...lastEntry, item: 0, offset: 0 } : beginningOf(conversation.id))
    },
  }),
  lastStopReason: t.field({
    type: StopReason,
    nullable: true,
    description: 'Why a run of the conversation most recently paused or ended. Null if none has.',
    resolve: async (conversation, _args, context) => {
      await headOf(conversation, context)
      return context.loaders.lastStopReasonOfConversation.load(conversation.id)
    },
  }),
}))
