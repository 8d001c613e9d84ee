import {
  type UsageDimension as DomainDimension,
  type UsageInterval as DomainInterval,
  widened,
} from '../../domain/usage/usage-input.ts'
import { listUsage, type UsageBucket as StoredBucket } from '../../store/usage/usage.ts'
import { Actor } from '../access/actor.ts'
import { Agent } from '../agents/agent.ts'
import { builder } from '../builder.ts'
import { describedEnum } from '../described-enum.ts'
import { args, given, ids, implement, int, of, string, time } from '../fields.ts'
import { linkOrNull } from '../load-existing.ts'
import { uuidsOfFilter } from '../node.ts'
import { Usage } from '../runs/run-outcome.ts'

const UsageInterval = describedEnum<DomainInterval>('UsageInterval', 'Length of a bucket, in UTC.', {
  HOUR: 'An hour.',
  DAY: 'A day.',
  MONTH: 'A month.',
  ALL: 'The whole time in one bucket, in whole hours.',
})

const UsageDimension = describedEnum<DomainDimension>('UsageDimension', 'What buckets are split by.', {
  AGENT: 'The agent of the run.',
  MODEL: 'The models of its steps. A run counts for each model that it used.',
  ACTOR: 'Who sent the run.',
})

const UsageInput = builder.inputType('UsageInput', {
  description: 'Which usage to show.',
  fields: given({
    from: time.required('Beginning, widened to a whole interval.'),
    to: time.required('End, widened to a whole interval. At most 10,000 hours or days after `from`.'),
    interval: of(UsageInterval).required('Length of a bucket.'),
    groupBy: of([UsageDimension])('What buckets are split by. Defaults to nothing.'),
    agentIds: ids('Only runs of these agents. Omit it for all.'),
  }),
})

const UsageBucket = builder.objectRef<StoredBucket>('UsageBucket')
implement(UsageBucket, {
  description: 'What ended runs used in one interval. Buckets without usage are left out.',
  fields: () => ({
    from: time('Beginning of the interval.'),
    agent: linkOrNull(Agent, 'agentId', 'Agent of the runs. Null unless grouped by AGENT, or if it was deleted.'),
    model: string.orNull(
      'Handle of the model. Null unless grouped by MODEL, and for what belongs to no step: summaries, and runs that asked no model.',
    ),
    actor: of(Actor).orNull('Who sent the runs. Null unless grouped by ACTOR, and for background runs.'),
    runs: int('Number of ended runs. A run counts in the hour in which it ended.'),
    failedRuns: int('Runs that ended as FAILED.'),
    cancelledRuns: int('Runs that ended as CANCELLED.'),
    usage: of(Usage)('Model usage of the runs.'),
    runP50Ms: int.orNull('Half of the runs took at most this long, from acceptance to end. Null if none ended.'),
    runP95Ms: int.orNull('95 % of the runs took at most this long, from acceptance to end. Null if none ended.'),
  }),
})

builder.queryField('usage', (t) =>
  t.field({
    ...of([UsageBucket])('What was used, in order of time. At most a minute old.'),
    args: args({ input: of(UsageInput).required('Which usage to show.') }),
    complexity: { field: 20, multiplier: 50 },
    resolve: (_root, { input }, { db, viewer }) =>
      listUsage(db, viewer, {
        ...widened(input.from, input.to, input.interval),
        interval: input.interval,
        groupBy: input.groupBy ?? [],
        agentIds: input.agentIds ? uuidsOfFilter('Agent', 'input.agentIds', input.agentIds) : undefined,
      }),
  }),
)
