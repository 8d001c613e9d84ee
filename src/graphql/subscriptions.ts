import { badUserInput } from '../domain/errors.ts'
import type { RunEvent as DomainRunEvent } from '../domain/run-event.ts'
import type { Run as DomainRun } from '../domain/run.ts'
import { followConversation } from '../live/follow-conversation.ts'
import { followRun } from '../live/follow-run.ts'
import { watchRuns } from '../live/watch-runs.ts'
import { builder } from './builder.ts'
import type { Context } from './context.ts'
import { requireConversationCursor, requireCursor } from './cursor.ts'
import { loadExisting } from './load-existing.ts'
import { clearLoaders, type Loaders } from './loaders.ts'
import { requireUuid, uuidOf, uuidsOfFilter } from './node.ts'
import { RunEvent } from './run-event.ts'
import { Run } from './run-refs.ts'

/**
 * A subscription keeps one context for as long as it lasts: without this, each event would show what an earlier one
 * loaded. Text that is being written loads nothing. Not a generator, which could not be released while it waits for
 * its source.
 */
export function withFreshLoaders<Event extends object>(
  source: AsyncIterableIterator<Event>,
  loaders: Loaders,
): AsyncIterableIterator<Event> {
  return {
    async next() {
      const result = await source.next()
      if (!result.done && !isDelta(result.value)) clearLoaders(loaders)
      return result
    },
    async return() {
      await source.return?.()
      return { done: true, value: undefined }
    },
    async throw(error) {
      await source.return?.()
      throw error
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

function isDelta(event: object): boolean {
  return 'type' in event && (event.type === 'text' || event.type === 'call')
}

async function subscribeToRun(
  context: Context,
  args: { readonly runId: string; readonly after?: string | null | undefined; readonly deltas: boolean },
): Promise<AsyncIterableIterator<DomainRunEvent>> {
  const run = await loadExisting(context.loaders.runs, 'Run', requireUuid('Run', args.runId))
  const after = typeof args.after === 'string' ? requireCursor(run, args.after) : undefined
  return withFreshLoaders(followRun(context, run.id, { after, deltas: args.deltas }), context.loaders)
}

async function subscribeToConversation(
  context: Context,
  args: { readonly conversationId: string; readonly after: string; readonly deltas: boolean },
): Promise<AsyncIterableIterator<DomainRunEvent>> {
  const { conversations, runs } = context.loaders
  const id = requireUuid('Conversation', args.conversationId)
  const conversation = await loadExisting(conversations, 'Conversation', id)
  const after = await requireConversationCursor(conversation, args.after, (runId) => runs.load(runId))
  return withFreshLoaders(followConversation(context, id, { after, deltas: args.deltas }), context.loaders)
}

function subscribeToRuns(
  context: Context,
  args: {
    readonly since: Date
    readonly agentIds?: readonly string[] | null | undefined
    readonly conversationId?: string | null | undefined
  },
): AsyncIterableIterator<DomainRun> {
  const agentIds = args.agentIds ? uuidsOfFilter('Agent', 'agentIds', args.agentIds) : undefined
  const conversationId = args.conversationId ? conversationUuid(args.conversationId) : undefined
  const runs = watchRuns(context, context.viewer.tenantId, {
    since: args.since,
    filter: { agentIds, conversationId },
  })
  return withFreshLoaders(runs, context.loaders)
}

function conversationUuid(id: string): string {
  const uuid = uuidOf('Conversation', id)
  if (uuid !== undefined) return uuid
  throw badUserInput('conversationId', `"${id}" is not the id of a conversation. It takes an id as the API gave it.`)
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
