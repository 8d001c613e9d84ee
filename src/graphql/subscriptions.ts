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
  return watchRuns(context, context.viewer.tenantId, { since: args.since, filter: { agentIds, conversationId } })
}

builder.subscriptionFields((t) => ({
  runEvents: t.field({
    type: RunEvent,
    extensions: { plain: true },
    description: 'Ends by itself once the run has ended and all of it was delivered. A pause does not end it.',
    args: {
      runId: t.arg.id({ required: true, description: 'The run.' }),
      after: t.arg({ type: 'EventCursor', description: 'Only what follows this cursor; everything unless given.' }),
      deltas: t.arg.boolean({
        required: true,
        defaultValue: true,
        description: 'Whether to send text as it is being written, or stored entries alone.',
      }),
    },
    subscribe: (_root, args, context) => subscribeToRun(context, args),
    resolve: (event) => event,
  }),
  conversationEvents: t.field({
    type: RunEvent,
    extensions: { plain: true },
    description: [
      "The events of the conversation's runs after `after` (`Conversation.lastCursor`), in the order in which the runs hold the",
      "conversation. It doesn't end. What waits in the queue shows in `runChanges`. A cursor must be given, so that a client library's silent resubscription loses nothing.",
    ].join('\n'),
    args: {
      conversationId: t.arg.id({ required: true, description: 'The conversation.' }),
      after: t.arg({
        type: 'EventCursor',
        required: true,
        description: 'Only what follows this cursor.',
      }),
      deltas: t.arg.boolean({
        required: true,
        defaultValue: true,
        description: 'Whether to send text as it is being written, or stored entries alone.',
      }),
    },
    subscribe: (_root, args, context) => subscribeToConversation(context, args),
    resolve: (event) => event,
  }),
  runChanges: t.field({
    type: Run,
    description:
      'Runs whose status changed at or after `since`, as they are now, then each as it changes. At least once.',
    args: {
      since: t.arg({ type: 'DateTime', required: true, description: 'From when on.' }),
      agentIds: t.arg.idList({ description: 'Only runs of these agents.' }),
      conversationId: t.arg.id({ description: 'Only runs of this conversation.' }),
    },
    subscribe: (_root, args, context) => subscribeToRuns(context, args),
    resolve: (run) => run,
  }),
}))
