import { notImplemented } from '../domain/errors.ts'
import type { RunEvent as DomainRunEvent } from '../domain/run-event.ts'
import { followRun } from '../live/follow-run.ts'
import { builder } from './builder.ts'
import type { Context } from './context.ts'
import { requireCursor } from './cursor.ts'
import { loadExisting } from './load-existing.ts'
import { clearLoaders, type Loaders } from './loaders.ts'
import { requireUuid } from './node.ts'
import { RunEvent } from './run-event.ts'
import { Run } from './run-refs.ts'

/**
 * A subscription keeps one context for as long as it lasts: without this, each event would show what an earlier one
 * loaded. Not a generator, which could not be released while it waits for its source.
 */
export function withFreshLoaders<Event>(
  source: AsyncIterableIterator<Event>,
  loaders: Loaders,
): AsyncIterableIterator<Event> {
  return {
    async next() {
      const result = await source.next()
      clearLoaders(loaders)
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

async function subscribeToRun(
  context: Context,
  args: { readonly runId: string; readonly after?: string | null | undefined; readonly deltas: boolean },
): Promise<AsyncIterableIterator<DomainRunEvent>> {
  const run = await loadExisting(context.loaders.runs, 'Run', requireUuid('Run', args.runId))
  const after = typeof args.after === 'string' ? requireCursor(run, args.after) : undefined
  return withFreshLoaders(followRun(context, run.id, { after, deltas: args.deltas }), context.loaders)
}

builder.subscriptionFields((t) => ({
  runEvents: t.field({
    type: RunEvent,
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
    subscribe: (): AsyncIterable<DomainRunEvent> => {
      throw notImplemented('conversationEvents')
    },
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
    subscribe: (): AsyncIterable<typeof Run.$inferType> => {
      throw notImplemented('runChanges')
    },
    resolve: (run) => run,
  }),
}))
