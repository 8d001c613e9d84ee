import { nextTimes, type MissedSchedule as DomainMissed } from '../../domain/schedules/schedule.ts'
import { listRunsOfSchedulePage } from '../../store/runs/run-list.ts'
import { listSchedulesPage } from '../../store/schedules/schedules.ts'
import { Actor } from '../access/actor.ts'
import { Agent } from '../agents/agent.ts'
import { builder } from '../builder.ts'
import { connectionType, pageOf } from '../connection.ts'
import { Conversation } from '../conversations/conversation.ts'
import { GivenMessage } from '../conversations/given-message.ts'
import { describedEnum } from '../described-enum.ts'
import { linkOrNull, linkTo } from '../load-existing.ts'
import { Node, queryById, uuidOfFilter } from '../node.ts'
import { Run, Schedule } from '../refs.ts'
import { RunConnection } from '../runs/run-queries.ts'
import { addFields, boolean, id, idOf, implement, of, string, time } from '../fields.ts'

export const MissedSchedule = describedEnum<DomainMissed>(
  'MissedSchedule',
  'What happens with times that passed while no process was running.',
  { SKIP: 'No run.', ONCE: 'One run for all that were missed.' },
)

/** As many as clients are shown. */
const shownTimes = 10

implement(Schedule, {
  description: 'Messages that are sent to an agent at certain times. Every due time makes one run.',
  interfaces: [Node],
  fields: (t) => ({
    name: string('Display name. Conversations that the schedule starts have it as title.'),
    agentId: idOf('Agent', 'agentId', 'Id of the agent, which may have been deleted. The schedule is disabled then.'),
    agent: linkTo(Agent, 'agentId', 'Agent that gets the messages.'),
    conversation: linkOrNull(
      Conversation,
      'conversationId',
      'Conversation that the messages go to. Null: a new one each time, or it was deleted.',
    ),
    cron: string.orNull('Five-field cron expression, read in `timezone`. Null if the schedule is due once, at `at`.'),
    timezone: string('IANA time zone in which `cron` is read.'),
    at: time.orNull('The only time at which the schedule is due. Null if it has a `cron`.'),
    messages: t.field({
      type: [GivenMessage],
      description: 'Messages of each run.',
      // They have no files, which alone belong to a conversation.
      resolve: ({ messages }) => messages.map((message) => ({ ...message, conversationId: '' })),
    }),
    missed: of(MissedSchedule)('What happens with times that passed while no process was running.'),
    enabled: boolean('Whether it has due times.'),
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
      ...pageOf(RunConnection, 'Runs that it started, newest first.'),
      resolve: ({ id }, page, { db, viewer }) => listRunsOfSchedulePage(db, viewer, id, page),
    }),
    lastError: string.orNull('Why the last due time made no run. Null if it made one.'),
    createdBy: of(Actor)('Who created the schedule. The runs of its due times are sent by this actor.'),
    createdAt: time('When the schedule was created.'),
  }),
})

queryById(Schedule, 'Schedule')

builder.queryField('schedules', (t) =>
  t.field({
    ...pageOf(connectionType('Schedule', Schedule), 'Schedules, oldest first.', {
      agentId: id('Schedules of this agent. Omit it for all.'),
    }),
    resolve(_root, { agentId, ...page }, { db, viewer }) {
      const of = typeof agentId === 'string' ? { agentId: uuidOfFilter('Agent', 'agentId', agentId)[0] ?? nobody } : {}
      return listSchedulesPage(db, viewer, of, page)
    },
  }),
)

/** An id that no agent has. */
const nobody = '00000000-0000-0000-0000-000000000000'

addFields(Run, () => ({
  schedule: linkOrNull(
    Schedule,
    'scheduleId',
    'Schedule that started the run. Null if none did, or if it was deleted.',
  ),
}))
