import { isLimited } from '../../domain/access/viewer.ts'
import type { MessageType as DomainMessageType } from '../../domain/conversations/message.ts'
import { eventsDeleted } from '../../domain/errors.ts'
import {
  type ConversationEvent as DomainConversationEvent,
  type EventFilter,
  type EventType as DomainEventType,
  eventTypes,
  type RunEvent as DomainRunEvent,
} from '../../domain/runs/run-event.ts'
import { hasEnded, type Run as DomainRun } from '../../domain/runs/run.ts'
import { followConversation } from '../../live/follow-conversation.ts'
import { followRun } from '../../live/follow-run.ts'
import { watchRuns } from '../../live/watch-runs.ts'
import { isLogDeletedAfter } from '../../store/runs/run-log.ts'
import { builder } from '../builder.ts'
import type { Context } from '../context.ts'
import { MessageType } from '../conversations/message.ts'
import { requireConversationCursor, requireCursor } from '../cursor.ts'
import { args, cursor, id, ids, time } from '../fields.ts'
import { loadExisting, requireAgents } from '../load-existing.ts'
import { requireUuid } from '../node.ts'
import { Run } from '../refs.ts'
import { ConversationEvent, EventType, RunEvent } from './run-event.ts'

interface FilterArguments {
  readonly deltas: boolean
  readonly types?: readonly DomainEventType[] | null | undefined
  readonly messageTypes?: readonly DomainMessageType[] | null | undefined
}

/** A background run belongs to another agent and conversation, so a limited viewer is sent none. */
export function filterOf(args: FilterArguments, { viewer }: Context): EventFilter {
  const { deltas, types } = args
  const messageTypes = args.messageTypes ? new Set(args.messageTypes) : undefined
  if (!isLimited(viewer)) return { deltas, types: types ? new Set(types) : undefined, messageTypes }
  const allowed = (types ?? eventTypes).filter((type) => type !== 'CHILD_RUN_STARTED')
  return { deltas, types: new Set(allowed), messageTypes }
}

async function subscribeToRun(
  context: Context,
  args: FilterArguments & { readonly runId: string; readonly after?: string | null | undefined },
): Promise<AsyncIterableIterator<DomainRunEvent>> {
  const run = await loadExisting(context.loaders.runs, 'Run', requireUuid('Run', args.runId))
  const after = typeof args.after === 'string' ? requireCursor(run, args.after) : undefined
  if (after && hasEnded(run.status) && (await isLogDeletedAfter(context.db, run.id, after.seq))) throw eventsDeleted()
  return followRun(context, run, { ...filterOf(args, context), after })
}

async function subscribeToConversation(
  context: Context,
  args: FilterArguments & { readonly conversationId: string; readonly after: string },
): Promise<AsyncIterableIterator<DomainConversationEvent>> {
  const { conversations, runs } = context.loaders
  const id = requireUuid('Conversation', args.conversationId)
  const conversation = await loadExisting(conversations, 'Conversation', id)
  const after = await requireConversationCursor(conversation, args.after, (runId) => runs.load(runId))
  return followConversation(context, id, { ...filterOf(args, context), after })
}

async function subscribeToRuns(
  context: Context,
  args: {
    readonly since: Date
    readonly agentIds?: readonly string[] | null | undefined
    readonly conversationId?: string | null | undefined
  },
): Promise<AsyncIterableIterator<DomainRun>> {
  const agentIds = await requireAgents(context, args.agentIds)
  const conversationId =
    typeof args.conversationId === 'string' ? requireUuid('Conversation', args.conversationId) : undefined
  if (conversationId) await loadExisting(context.loaders.conversations, 'Conversation', conversationId)
  return watchRuns(context, context.viewer, { since: args.since, filter: { agentIds, conversationId } })
}

const filterArguments = builder.args((t) => ({
  deltas: t.boolean({
    required: true,
    defaultValue: true,
    description: 'Whether to send TextDelta and ToolCallDelta events. Defaults to true.',
  }),
  types: t.field({
    type: [EventType],
    description:
      'Event types to send, without those that `deltas` excludes. Null means all. A filter leaves gaps in `seq`.',
  }),
  messageTypes: t.field({
    type: [MessageType],
    description:
      'Types of messages to send: MessageAdded, TextDelta and ToolCallDelta events about other messages are left out. A ToolCallDelta whose `needs` is null is sent with TOOL_CALL and with APPROVAL_REQUEST. Null means all. Other events are not affected.',
  }),
}))

builder.subscriptionFields((t) => ({
  runEvents: t.field({
    type: RunEvent,
    extensions: { plain: true },
    description:
      'Events of a run. The stream ends when the run has ended and all events are sent; a pause does not end it.',
    args: {
      runId: t.arg.id({ required: true, description: 'Id of the run.' }),
      after: t.arg({
        ...cursor('Send only events after this cursor. Defaults to the start of the run.'),
      }),
      ...filterArguments,
    },
    subscribe: (_root, args, context) => subscribeToRun(context, args),
    resolve: (event) => event,
  }),
  conversationEvents: t.field({
    type: ConversationEvent,
    extensions: { plain: true },
    description: [
      'Events of a conversation: the events of its runs, one run after the other in the order in which they hold it, and',
      'changes of its queue and current branch. The stream does not end.',
    ].join('\n'),
    args: {
      conversationId: t.arg.id({ required: true, description: 'Id of the conversation.' }),
      after: t.arg({
        type: 'EventCursor',
        required: true,
        description: 'Send only events after this cursor. Start with `Conversation.lastCursor`.',
      }),
      ...filterArguments,
    },
    subscribe: (_root, args, context) => subscribeToConversation(context, args),
    resolve: (event) => event,
  }),
  runChanges: t.field({
    type: Run,
    description:
      'The runs whose status changed at or after `since`, in their current state, then each run when its status changes. A run may be sent more than once for one change. The stream does not end by itself.',
    args: args({
      since: time.required('Start with changes at or after this time.'),
      agentIds: ids('Only runs of these agents. Omit it for runs of all agents.'),
      conversationId: id('Only runs of this conversation. Omit it for runs of all conversations.'),
    }),
    subscribe: (_root, args, context) => subscribeToRuns(context, args),
    resolve: (run) => run,
  }),
}))
