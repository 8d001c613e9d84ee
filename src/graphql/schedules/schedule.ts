import { encodeId } from '../../domain/ids.ts'
import { nextTimes, type MissedSchedule as DomainMissed } from '../../domain/schedules/schedule.ts'
import { listRunsOfSchedulePage } from '../../store/runs/run-list.ts'
import { listSchedulesPage } from '../../store/schedules/schedules.ts'
import { Actor } from '../access/actor.ts'
import { Agent } from '../agents/agent.ts'
import { builder, orNull } from '../builder.ts'
import { connectionType, pageArguments, pageComplexity } from '../connection.ts'
import { Conversation } from '../conversations/conversation.ts'
import { GivenMessage } from '../conversations/given-message.ts'
import { describedEnum } from '../described-enum.ts'
import { linkTo } from '../load-existing.ts'
import { Node, queryById, uuidOfFilter } from '../node.ts'
import { Run, Schedule } from '../refs.ts'
import { RunConnection } from '../runs/run-queries.ts'

export const MissedSchedule = describedEnum<DomainMissed>(
  'MissedSchedule',
  'What happens with times that passed while no process was running.',
  { SKIP: 'No run.', ONCE: 'One run for all that were missed.' },
)

/** As many as clients are shown. */
const shownTimes = 10

Schedule.implement({
  description: 'Messages that are sent to an agent at certain times. Every due time makes one run.',
  interfaces: [Node],
  fields: (t) => ({
    name: t.exposeString('name', {
      description: 'Display name. Conversations that the schedule starts have it as title.',
    }),
    agentId: t.id({
      description: 'Id of the agent, which may have been deleted. The schedule is disabled then.',
      resolve: ({ agentId }) => encodeId('Agent', agentId),
    }),
    agent: t.field(linkTo(Agent, 'agentId', 'Agent that gets the messages.')),
    conversation: t.field({
      ...orNull('Conversation that the messages go to. Null: a new one each time, or it was deleted.', Conversation),
      resolve: ({ conversationId }, _args, { loaders }) =>
        conversationId === null ? null : loaders.conversations.load(conversationId),
    }),
    cron: t.exposeString(
      'cron',
      orNull('Five-field cron expression, read in `timezone`. Null if the schedule is due once, at `at`.'),
    ),
    timezone: t.exposeString('timezone', { description: 'IANA time zone in which `cron` is read.' }),
    at: t.expose('at', orNull('The only time at which the schedule is due. Null if it has a `cron`.', 'DateTime')),
    messages: t.field({
      type: [GivenMessage],
      description: 'Messages of each run.',
      // They have no files, which alone belong to a conversation.
      resolve: ({ messages }) => messages.map((message) => ({ ...message, conversationId: '' })),
    }),
    missed: t.expose('missed', {
      type: MissedSchedule,
      description: 'What happens with times that passed while no process was running.',
    }),
    enabled: t.exposeBoolean('enabled', { description: 'Whether it has due times.' }),
    nextTimes: t.field({
      type: ['DateTime'],
      description: `The next times, at most ${shownTimes}. Empty if the schedule is disabled or over.`,
      complexity: 10,
      resolve(schedule) {
        if (!schedule.nextDue) return []
        return [schedule.nextDue, ...nextTimes(schedule, schedule.nextDue, shownTimes - 1)]
      },
    }),
    runs: t.field({
      type: RunConnection,
      description: 'Runs that it started, newest first.',
      args: pageArguments,
      complexity: pageComplexity,
      resolve: ({ id }, page, { db, viewer }) => listRunsOfSchedulePage(db, viewer, id, page),
    }),
    lastError: t.exposeString('lastError', orNull('Why the last due time made no run. Null if it made one.')),
    createdBy: t.expose('createdBy', {
      type: Actor,
      description: 'Who created the schedule. The runs of its due times are sent by this actor.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the schedule was created.' }),
  }),
})

queryById(Schedule, 'Schedule')

builder.queryField('schedules', (t) =>
  t.field({
    type: connectionType('Schedule', Schedule),
    description: 'Schedules, oldest first.',
    args: { ...pageArguments, agentId: t.arg.id({ description: 'Schedules of this agent. Omit it for all.' }) },
    complexity: pageComplexity,
    resolve(_root, { agentId, ...page }, { db, viewer }) {
      const of = typeof agentId === 'string' ? { agentId: uuidOfFilter('Agent', 'agentId', agentId)[0] ?? nobody } : {}
      return listSchedulesPage(db, viewer, of, page)
    },
  }),
)

/** An id that no agent has. */
const nobody = '00000000-0000-0000-0000-000000000000'

builder.objectField(Run, 'schedule', (t) =>
  t.field({
    ...orNull('Schedule that started the run. Null if none did, or if it was deleted.', Schedule),
    resolve: ({ scheduleId }, _args, { loaders }) => (scheduleId === null ? null : loaders.schedules.load(scheduleId)),
  }),
)
