import { uuidOf } from '../../domain/ids.ts'
import { givenObject } from '../../domain/input.ts'
import { checkedWait } from '../../domain/runs/run-input.ts'
import type { Run as DomainRun } from '../../domain/runs/run.ts'
import { waitForRun } from '../../live/wait-for-run.ts'
import type { Page, PageArguments } from '../../store/database/page.ts'
import { listRunsPage, type RunFilter as StoredRunFilter } from '../../store/runs/run-list.ts'
import { Agent } from '../agents/agent.ts'
import { builder, orNull } from '../builder.ts'
import { connectionType, listArguments, pageComplexity } from '../connection.ts'
import type { Context } from '../context/context.ts'
import { requireCursor } from '../cursor.ts'
import { givenUuid, uuidsOfFilter } from '../node.ts'
import { RunStatus, RunWait, StopReason } from './run-outcome.ts'
import { Run } from '../refs.ts'

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
    metadataContains: t.field({
      type: 'JSON',
      description: "JSON object that the run's metadata must contain, as in Postgres's `@>` operator.",
    }),
    sentBy: t.string({ description: 'Runs sent by the actor with this id, of whatever kind.' }),
    models: t.stringList({
      description: 'Runs that used one of these models in a step, by their exact handles as in `Step.model`.',
    }),
    waitingFor: t.field({ type: [RunWait], description: 'Paused runs that wait for one of these.' }),
  }),
})

type GivenFilter = typeof RunFilter.$inferInput

/** A page of the tenant's runs, or of one agent's or conversation's if it is a field of that. */
export function runsPage(
  { db, viewer }: Context,
  options: {
    readonly filter: GivenFilter | null | undefined
    readonly page: PageArguments
    readonly of?: { readonly agentId: string } | { readonly conversationId: string }
  },
): Promise<Page<DomainRun>> {
  const filter = toStoredFilter(options.filter ?? {})
  const { of } = options
  const narrowed: StoredRunFilter = {
    ...filter,
    agentIds: of && 'agentId' in of ? narrow(filter.agentIds, of.agentId) : filter.agentIds,
    conversationIds:
      of && 'conversationId' in of ? narrow(filter.conversationIds, of.conversationId) : filter.conversationIds,
  }
  return listRunsPage(db, viewer, { filter: narrowed, page: options.page })
}

function toStoredFilter({ agentIds, conversationId, metadataContains, ...rest }: GivenFilter): StoredRunFilter {
  return {
    ...rest,
    metadataContains: givenObject('filter.metadataContains', metadataContains),
    agentIds: agentIds && uuidsOfFilter('Agent', 'filter.agentIds', agentIds),
    conversationIds: givenUuid('Conversation', 'filter.conversationId', conversationId),
  }
}

function narrow(ids: readonly string[] | null | undefined, id: string): string[] {
  return !ids || ids.includes(id) ? [id] : []
}

builder.queryFields((t) => ({
  run: t.field({
    ...orNull(
      'Run with this id. Null if there is none. With `waitMs`, the answer is delayed until the run has passed `after` and is paused or ended.',
      Run,
    ),
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
      context.loaders.forget()
      return context.loaders.runs.load(run.id)
    },
  }),
  runs: t.field({
    type: RunConnection,
    description: 'Runs of all agents, newest first.',
    args: listArguments(RunFilter, 'runs'),
    complexity: pageComplexity,
    resolve: (_root, { filter, ...page }, context) => runsPage(context, { filter, page }),
  }),
}))

builder.objectFields(Agent, (t) => ({
  runs: t.field({
    type: RunConnection,
    description: 'Runs in all conversations of the agent, newest first.',
    args: listArguments(RunFilter, 'runs'),
    complexity: pageComplexity,
    resolve: (agent, { filter, ...page }, context) => runsPage(context, { filter, page, of: { agentId: agent.id } }),
  }),
  lastStopReason: t.field({
    ...orNull('Why a run of the agent most recently paused or ended. Null if none has.', StopReason),
    resolve: (agent, _args, context) => context.loaders.lastStopReasonOfAgent.load(agent.id),
  }),
}))
