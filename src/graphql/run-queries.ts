import type { Run as DomainRun } from '../domain/run.ts'
import { waitForRun } from '../live/wait-for-run.ts'
import type { PageArguments } from '../store/database/page.ts'
import { countRuns, listRunsPage, type RunFilter as StoredRunFilter } from '../store/run-list.ts'
import { builder } from './builder.ts'
import { connectionType, pageArguments, pageComplexity, type CountedPage } from './connection.ts'
import type { Context } from './context.ts'
import { requireCursor } from './cursor.ts'
import { clearLoaders } from './loaders.ts'
import { uuidOf, uuidOfFilter, uuidsOfFilter } from './node.ts'
import { RunStatus, StopReason } from './run-outcome.ts'
import { Run } from './run-refs.ts'
import { checkedWait } from '../domain/runs/run-input.ts'

export const RunConnection = connectionType('Run', Run)

export const RunFilter = builder.inputType('RunFilter', {
  description: 'Which runs to list. Omitted fields do not filter; all given fields must match.',
  fields: (t) => ({
    agentIds: t.idList({ description: 'Runs of one of these agents.' }),
    conversationId: t.id({ description: 'Runs of this conversation.' }),
    statuses: t.field({ type: [RunStatus], description: 'Runs with one of these statuses.' }),
    stopReasons: t.field({
      type: [StopReason],
      description: 'Runs with one of these stop reasons.',
    }),
    createdAfter: t.field({ type: 'DateTime', description: 'Runs accepted after this time.' }),
    createdBefore: t.field({ type: 'DateTime', description: 'Runs accepted before this time.' }),
    background: t.boolean({ description: 'True for background runs only, false for others only. Omit for both.' }),
  }),
})

type GivenFilter = typeof RunFilter.$inferInput

/** A page of the tenant's runs, or of one agent's or conversation's if it is a field of that. */
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
    ...(await listRunsPage(db, viewer, { filter: narrowed, page: options.page })),
    countAll: () => countRuns(db, viewer, narrowed),
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
      'Run with this id. Null if there is none. With `waitMs`, the answer is delayed until the run has passed `after` and is paused or ended.',
    args: {
      id: t.arg.id({ required: true, description: 'Id of the run.' }),
      after: t.arg({
        type: 'EventCursor',
        description:
          'Position that the run must have passed. Used only with `waitMs`. Defaults to the start of the run.',
      }),
      waitMs: t.arg.int({
        required: true,
        defaultValue: 0,
        description: 'Maximum time to wait. Defaults to 0, at most 300,000.',
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
    description: 'Runs of all agents, newest first.',
    args: { ...pageArguments, filter: t.arg({ type: RunFilter, description: 'Which runs to list. Omit it for all.' }) },
    complexity: pageComplexity,
    resolve: (_root, { filter, ...page }, context) => runsPage(context, { filter, page }),
  }),
}))
