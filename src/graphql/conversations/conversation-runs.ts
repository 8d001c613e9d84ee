import type { Conversation as DomainConversation } from '../../domain/conversations/conversation.ts'
import type { ConversationHead } from '../../store/conversations/conversation-heads.ts'
import { listMessagesPage } from '../../store/conversations/messages.ts'
import { builder } from '../builder.ts'
import { filterBy, pageOf } from '../connection.ts'
import type { Context } from '../context.ts'
import { ContextType, viewContext } from '../context/context-view.ts'
import { lastCursorOfConversation } from '../cursor.ts'
import { of, time } from '../fields.ts'
import { loadExisting, loadQueue } from '../load-existing.ts'
import { Run } from '../refs.ts'
import { StopReason } from '../runs/run-outcome.ts'
import { RunConnection, RunFilter, runsPage } from '../runs/run-queries.ts'
import { Conversation } from './conversation.ts'
import { MessageConnection, MessageFilter } from './message.ts'

/**
 * Everything that a conversation shows of its runs is read after its head, which `lastCursor` comes from. An event that
 * these fields do not show yet must lie after the cursor, or a client that follows from there would miss it.
 */
function headOf(conversation: DomainConversation, context: Context): Promise<ConversationHead> {
  return loadExisting(context.loaders.conversationHeads, 'Conversation', conversation.id)
}

builder.objectFields(Conversation, (t) => ({
  messages: t.field({
    ...pageOf(MessageConnection, 'Messages on the current branch, oldest first.', filterBy(MessageFilter, 'messages')),
    resolve: async (conversation, { filter, ...page }, context) => {
      const head = await headOf(conversation, context)
      const list = { conversationId: conversation.id, of: head, types: filter?.types }
      return listMessagesPage(context.db, context.viewer, list, page)
    },
  }),
  runs: t.field({
    ...pageOf(RunConnection, 'Runs on all branches, newest first.', filterBy(RunFilter, 'runs')),
    resolve: async (conversation, { filter, ...page }, context) => {
      await headOf(conversation, context)
      return runsPage(context, { filter, page, of: { conversationId: conversation.id } })
    },
  }),
  activeRun: t.field({
    ...of(Run).orNull('Run that holds the conversation, whether queued, running or waiting. Null if there is none.'),
    resolve: async (conversation, _args, context) => {
      const { activeRunId } = await headOf(conversation, context)
      return activeRunId === null ? null : context.loaders.runs.load(activeRunId)
    },
  }),
  queue: t.field({
    type: [Run],
    description:
      'Runs that wait behind the active run, in the order in which they will start, exactly as `lastCursor` names them. `Run.input` has their messages. At most 1,000: the first ones. `runs` with status QUEUED lists all.',
    resolve: async (conversation, _args, context) => {
      const { queue } = await headOf(conversation, context)
      return loadQueue(context, queue.runIds)
    },
  }),
  latestRun: t.field({
    ...of(Run).orNull(
      'Last run on the current branch, which is the active run if there is one. Null before the first run.',
    ),
    resolve: async (conversation, _args, context) => {
      const { latestRunId } = await headOf(conversation, context)
      return latestRunId === null ? null : context.loaders.runs.load(latestRunId)
    },
  }),
  lastActivityAt: t.field({
    ...time('When a message was last added or a run last changed status. Equals `createdAt` until then.'),
    resolve: async (conversation, _args, context) => {
      await headOf(conversation, context)
      return loadExisting(context.loaders.lastActivityOfConversation, 'Conversation', conversation.id)
    },
  }),
  context: t.field({
    ...of(ContextType)('What the model would be sent now.'),
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
    ...of(StopReason).orNull('Why a run of the conversation most recently paused or ended. Null if none has.'),
    resolve: async (conversation, _args, context) => {
      await headOf(conversation, context)
      return context.loaders.lastStopReasonOfConversation.load(conversation.id)
    },
  }),
}))
