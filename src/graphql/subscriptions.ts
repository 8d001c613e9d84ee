import type { RunEvent as DomainRunEvent } from '../domain/run-event.ts'
import type { Run as DomainRun } from '../domain/run.ts'
import { followConversation } from '../live/follow-conversation.ts'
import { followRun } from '../live/follow-run.ts'
import { watchRuns } from '../live/watch-runs.ts'
import { builder } from './builder.ts'
import type { Context } from './context.ts'
import { requireConversationCursor, requireCursor } from './cursor.ts'
import { loadExisting, requireAgents } from './load-existing.ts'
import { requireUuid } from './node.ts'
import { RunEvent } from './run-event.ts'
import { Run } from './run-refs.ts'

async function subscribeToRun(
  context: Context,
  args: { readonly runId: string; readonly after?: string | null | undefined; readonly deltas: boolean },
): Promise<AsyncIterableIterator<DomainRunEvent>> {
  const run = await loadExisting(context.loaders.runs, 'Run', requireUuid('Run', args.runId))
  const after = typeof args.after === 'string' ? requireCursor(run, args.after) : undefined
  return followRun(context, run.id, { after, deltas: args.deltas })
}

async function subscribeToConversation(
  context: Context,
  args: { readonly conversationId: string; readonly after: string; readonly deltas: boolean },
): Promise<AsyncIterableIterator<DomainRunEvent>> {
  const { conversations, runs } = context.loaders
  const id = requireUuid('Conversation', args.conversationId)
  const conversation = await loadExisting(conversations, 'Conversation', id)
  const after = await requireConversationCursor(conversation, args.after, (runId) => runs.load(runId))
  return followConversation(context, id, { after, deltas: args.deltas })
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

builder.subscriptionFields((t) => ({
  runEvents: t.field({
    type: RunEvent,
    extensions: { plain: true },
    description:
      'The events of a run. The stream ends by itself after the last event of a run that has ended. A pause does not end it.',
    args: {
      runId: t.arg.id({ required: true, description: 'The run.' }),
      after: t.arg({
        type: 'EventCursor',
        description: 'Send only events after this cursor. Omit it to get the stream from its beginning.',
      }),
      deltas: t.arg.boolean({
        required: true,
        defaultValue: true,
        description:
          'Whether to send text while it is being written. Defaults to true. With false, the stream has the stored entries alone.',
      }),
    },
    subscribe: (_root, args, context) => subscribeToRun(context, args),
    resolve: (event) => event,
  }),
  conversationEvents: t.field({
    type: RunEvent,
    extensions: { plain: true },
    description: [
      "The events of a conversation's runs, one run after another in the order in which they hold the conversation. The stream",
      'ends only when the conversation is deleted. Runs that wait in the queue have no events here: see `runChanges`. A cursor is',
      'required (take `Conversation.lastCursor`), so that a client library that resubscribes silently misses nothing.',
    ].join('\n'),
    args: {
      conversationId: t.arg.id({ required: true, description: 'The conversation.' }),
      after: t.arg({
        type: 'EventCursor',
        required: true,
        description: 'Send only events after this cursor.',
      }),
      deltas: t.arg.boolean({
        required: true,
        defaultValue: true,
        description:
          'Whether to send text while it is being written. Defaults to true. With false, the stream has the stored entries alone.',
      }),
    },
    subscribe: (_root, args, context) => subscribeToConversation(context, args),
    resolve: (event) => event,
  }),
  runChanges: t.field({
    type: Run,
    description:
      'The runs whose status changed at or after `since`, as they are now, then each run when its status changes. A run may be sent more than once for one change. The stream does not end by itself.',
    args: {
      since: t.arg({ type: 'DateTime', required: true, description: 'Start with changes at or after this time.' }),
      agentIds: t.arg.idList({ description: 'Only runs of these agents. Omit it for runs of all agents.' }),
      conversationId: t.arg.id({
        description: 'Only runs of this conversation. Omit it for runs of all conversations.',
      }),
    },
    subscribe: (_root, args, context) => subscribeToRuns(context, args),
    resolve: (run) => run,
  }),
}))
