import type { Conversation as DomainConversation } from '../../domain/conversations/conversation.ts'
import type { ConversationHead } from '../../store/conversation-heads.ts'
import { builder } from '../builder.ts'
import { pageArguments, pageComplexity } from '../connection.ts'
import { ContextType, viewContext } from '../context/context-view.ts'
import type { Context } from '../context.ts'
import { Conversation } from '../conversation.ts'
import { lastCursorOfConversation } from '../cursor.ts'
import { loadExisting } from '../load-existing.ts'
import { MessageConnection, MessageFilter, messagesPage } from '../message.ts'
import { StopReason } from '../run-outcome.ts'
import { RunConnection, RunFilter, runsPage } from '../run-queries.ts'
import { Run } from '../run-refs.ts'

/**
 * Everything that a conversation shows of its runs is read after its head, which `lastCursor` comes from. An event that
 * these fields do not show yet must lie after the cursor, or a client that follows from there would miss it.
 */
function headOf(conversation: DomainConversation, context: Context): Promise<ConversationHead> {
  return loadExisting(context.loaders.conversationHeads, 'Conversation', conversation.id)
}

builder.objectFields(Conversation, (t) => ({
  messages: t.field({
    type: MessageConnection,
    description: 'Messages on the current branch, oldest first.',
    args: {
      ...pageArguments,
      filter: t.arg({ type: MessageFilter, description: 'Which messages to list. Omit it for all.' }),
    },
    complexity: pageComplexity,
    resolve: async (conversation, { filter, ...page }, context) => {
      await headOf(conversation, context)
      return messagesPage(context, { conversationId: conversation.id, types: filter?.types }, page)
    },
  }),
  runs: t.field({
    type: RunConnection,
    description: 'Runs on all branches, newest first.',
    args: { ...pageArguments, filter: t.arg({ type: RunFilter, description: 'Which runs to list. Omit it for all.' }) },
    complexity: pageComplexity,
    resolve: async (conversation, { filter, ...page }, context) => {
      await headOf(conversation, context)
      return runsPage(context, { filter, page, of: { conversationId: conversation.id } })
    },
  }),
  activeRun: t.field({
    type: Run,
    nullable: true,
    description: 'Run that holds the conversation, whether queued, running or waiting. Null if there is none.',
    resolve: async (conversation, _args, context) => {
      const { activeRunId } = await headOf(conversation, context)
      return activeRunId === null ? null : context.loaders.runs.load(activeRunId)
    },
  }),
  queue: t.field({
    type: [Run],
    description:
      'Runs that wait behind the active run, in the order in which they will start. `Run.input` has their messages. At most 1,000: the first ones. `runs` with status QUEUED lists all.',
    resolve: async (conversation, _args, context) => {
      await headOf(conversation, context)
      return [...(await context.loaders.queueOfConversation.load(conversation.id))]
    },
  }),
  latestRun: t.field({
    type: Run,
    nullable: true,
    description: 'Last run on the current branch, which is the active run if there is one. Null before the first run.',
    resolve: async (conversation, _args, context) => {
      const { latestRunId } = await headOf(conversation, context)
      return latestRunId === null ? null : context.loaders.runs.load(latestRunId)
    },
  }),
  lastActivityAt: t.field({
    type: 'DateTime',
    description: 'When a message was last added or a run last changed status. Equals `createdAt` until then.',
    resolve: async (conversation, _args, context) => {
      await headOf(conversation, context)
      return loadExisting(context.loaders.lastActivityOfConversation, 'Conversation', conversation.id)
    },
  }),
  context: t.field({
    type: ContextType,
    description: 'What the model would be sent now.',
    // Reads the whole context and counts its tokens.
    complexity: 20,
    resolve: async (conversation, _args, context) => {
      await headOf(conversation, context)
      return viewContext(context, conversation.id)
    },
  }),
  lastCursor: t.field({
    type: 'EventCursor',
    description:
      'Cursor of the last stored event. Query it together with the fields to display and pass it to `conversationEvents`: no event is missed, and text that is still being written is sent from its first character.',
    resolve: async (conversation, _args, context) => lastCursorOfConversation(await headOf(conversation, context)),
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
