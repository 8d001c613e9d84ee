import { uuidOf } from '../../domain/ids.ts'
import { givenObject } from '../../domain/input.ts'
import { checkedWait } from '../../domain/runs/run-input.ts'
import type { Run as DomainRun } from '../../domain/runs/run.ts'
import { waitForRun } from '../../live/wait-for-run.ts'
import type { Page, PageArguments } from '../../store/database/page.ts'
import { listRunsPage, type RunFilter as StoredRunFilter } from '../../store/runs/run-list.ts'
import { Agent } from '../agents/agent.ts'
import { builder } from '../builder.ts'
import { connectionType, filterBy, pageOf } from '../connection.ts'
import type { Context } from '../context.ts'
import { requireCursor } from '../cursor.ts'
import { addFields, args, boolean, cursor, given, id, ids, int, json, of, string, strings, time } from '../fields.ts'
import { loaded } from '../load-existing.ts'
import { givenUuid, uuidsOfFilter } from '../node.ts'
import { Run } from '../refs.ts'
import { RunStatus, RunWait, StopReason } from './run-outcome.ts'

export const RunConnection = connectionType('Run', Run)

export const RunFilter = builder.inputType('RunFilter', {
  description: 'Which runs to list. Omitted fields do not filter; all given fields must match.',
  fields: given({
    agentIds: ids('Runs of one of these agents.'),
    conversationId: id('Runs of this conversation.'),
    statuses: of([RunStatus])('Runs with one of these statuses.'),
    stopReasons: of([StopReason])('Runs with one of these stop reasons.'),
    createdAfter: time('Runs accepted after this time.'),
    createdBefore: time('Runs accepted before this time.'),
    background: boolean('True for background runs only, false for others only. Omit for both.'),
    metadataContains: json("JSON object that the run's metadata must contain, as in Postgres's `@>` operator."),
    sentBy: string('Runs sent by the actor with this id, of whatever kind.'),
    models: strings('Runs that used one of these models in a step, by their exact handles as in `Step.model`.'),
    waitingFor: of([RunWait])('Paused runs that wait for one of these.'),
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
    ...of(Run).orNull(
      'Run with this id. Null if there is none. With `waitMs`, the answer is delayed until the run has passed `after` and is paused or ended.',
    ),
    args: args({
      id: id.required('Id of the run.'),
      after: cursor(
        'Position that the run must have passed. Used only with `waitMs`. Defaults to the start of the run.',
      ),
      waitMs: int.withDefault(0, 'Maximum time to wait. Defaults to 0, at most 300,000.'),
    }),
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
    ...pageOf(RunConnection, 'Runs of all agents, newest first.', filterBy(RunFilter, 'runs')),
    resolve: (_root, { filter, ...page }, context) => runsPage(context, { filter, page }),
  }),
}))

addFields(Agent, (t) => ({
  runs: t.field({
    ...pageOf(RunConnection, 'Runs in all conversations of the agent, newest first.', filterBy(RunFilter, 'runs')),
    resolve: (agent, { filter, ...page }, context) => runsPage(context, { filter, page, of: { agentId: agent.id } }),
  }),
  lastStopReason: loaded(
    'lastStopReasonOfAgent',
    of(StopReason).orNull('Why a run of the agent most recently paused or ended. Null if none has.'),
  ),
}))
