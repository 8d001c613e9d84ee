import type { Run as DomainRun } from '../domain/run.ts'
import { waitForRun } from '../live/wait-for-run.ts'
import type { PageArguments } from '../store/page.ts'
import { countRuns, listRunsPage, type RunFilter as StoredRunFilter } from '../store/run-list.ts'
import { builder } from './builder.ts'
import { countedConnectionType, pageArguments, pageComplexity, type CountedPage } from './connection.ts'
import type { Context } from './context.ts'
import { requireCursor } from './cursor.ts'
import { clearLoaders } from './loaders.ts'
import { uuidOf, uuidOfFilter, uuidsOfFilter } from './node.ts'
import { RunStatus, StopReason } from './run-outcome.ts'
import { Run } from './run-refs.ts'
import { checkedWait } from './run-input.ts'

export const RunConnection = countedConnectionType('Run', Run)

export const RunFilter = builder.inputType('RunFilter', {
  description: 'Which runs a list shows. What is left out filters nothing.',
  fields: (t) => ({
    agentIds: t.idList({ description: 'Only runs of these agents.' }),
    conversationId: t.id({ description: 'Only runs of this conversation.' }),
    statuses: t.field({ type: [RunStatus], description: 'Only runs that stand like this now.' }),
    stopReasons: t.field({
      type: [StopReason],
      description: 'Only runs that paused or ended for one of these reasons.',
    }),
    createdAfter: t.field({ type: 'DateTime', description: 'Only runs that were accepted after this instant.' }),
    createdBefore: t.field({ type: 'DateTime', description: 'Only runs that were accepted before this instant.' }),
    background: t.boolean({ description: 'Sleeptime runs only, or without them.' }),
  }),
})

type GivenFilter = typeof RunFilter.$inferInput

/** A page of the tenant's runs, or of the one agent's or conversation's whose field it is. */
export async function runsPage(
  { db, viewer }: Context,
  options: {
    readonly filter: GivenFilter | null | undefined
    readonly page: PageArguments
    readonly of?: { readonly agentId: string } | { readonly conversationId: string }
  },
): Promise<CountedPage<DomainRun>> {
  const filter = toStoredFilter(options.filter ?? {})
  const { of } = options
  const narrowed: StoredRunFilter = {
    ...filter,
    agentIds: of && 'agentId' in of ? narrow(filter.agentIds, of.agentId) : filter.agentIds,
    conversationIds:
      of && 'conversationId' in of ? narrow(filter.conversationIds, of.conversationId) : filter.conversationIds,
  }
  return {
    ...(await listRunsPage(db, viewer.tenantId, { filter: narrowed, page: options.page })),
    countAll: () => countRuns(db, viewer.tenantId, narrowed),
  }
}

function toStoredFilter({ agentIds, conversationId, ...rest }: GivenFilter): StoredRunFilter {
  return {
    ...rest,
    agentIds: agentIds && uuidsOfFilter('Agent', 'filter.agentIds', agentIds),
    conversationIds:
      typeof conversationId === 'string'
        ? uuidOfFilter('Conversation', 'filter.conversationId', conversationId)
        : undefined,
  }
}

function narrow(ids: readonly string[] | null | undefined, id: string): string[] {
  return !ids || ids.includes(id) ? [id] : []
}

builder.queryFields((t) => ({
  run: t.field({
    type: Run,
    nullable: true,
    description:
      'One run. With `waitMs`: answers once the run has moved past `after` and is paused or ended, or the time is over (at most 5 minutes). Null where there is no such run.',
    args: {
      id: t.arg.id({ required: true, description: 'The id of the run.' }),
      after: t.arg({ type: 'EventCursor', description: 'With `waitMs`: the place that the run must have moved past.' }),
      waitMs: t.arg.int({
        required: true,
        defaultValue: 0,
        description: 'How long to wait at the most. 0: not at all.',
      }),
    },
    resolve: async (_root, { id, after, waitMs }, context) => {
      const uuid = uuidOf('Run', id)
      const wait = checkedWait('waitMs', waitMs)
      const run = uuid && (await context.loaders.runs.load(uuid))
      if (!run) return null
      const cursor = typeof after === 'string' ? requireCursor(run, after) : undefined
      if (wait === 0) return run
      await waitForRun(context, run.id, { waitMs: wait, after: cursor })
      clearLoaders(context.loaders)
      return context.loaders.runs.load(run.id)
    },
  }),
  runs: t.field({
    type: RunConnection,
    description: 'All runs, newest first.',
    args: { ...pageArguments, filter: t.arg({ type: RunFilter, description: 'Which runs to list.' }) },
    complexity: pageComplexity,
    resolve: (_root, { filter, ...page }, context) => runsPage(context, { filter, page }),
  }),
}))
