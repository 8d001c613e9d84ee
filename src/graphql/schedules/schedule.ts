import { createSchedule, deleteSchedule, updateSchedule } from '../../commands/schedules/schedule.ts'
import { triggerSchedule } from '../../commands/schedules/run-schedule.ts'
import type { Agent as AgentShape } from '../../domain/agents/agent.ts'
import { unsetAgent } from '../../domain/agents/agent-input.ts'
import {
  type MissedSchedule as DomainMissed,
  nextTimes,
  type Schedule as ScheduleShape,
} from '../../domain/schedules/schedule.ts'
import { listRunsOfSchedulePage } from '../../store/runs/run-list.ts'
import { listSchedulesPage } from '../../store/schedules/schedules.ts'
import { Actor } from '../access/actor.ts'
import { Agent } from '../agents/agent.ts'
import { builder } from '../builder.ts'
import { connectionType, pageOf } from '../connection.ts'
import { Conversation } from '../conversations/conversation.ts'
import { GivenMessage, NewMessageInput } from '../conversations/given-message.ts'
import { describedEnum } from '../described-enum.ts'
import { addFields, boolean, id, idOf, implement, of, string, time } from '../fields.ts'
import { linkOrNull, linkTo } from '../load-existing.ts'
import { deletion, idempotencyKeyField, idInput, mutation, payload, payloadOf } from '../mutation.ts'
import { Node, queryById, requireUuid, uuidOfFilter } from '../node.ts'
import { Run } from '../refs.ts'
import { RunConnection } from '../runs/run-queries.ts'

const MissedSchedule = describedEnum<DomainMissed>(
  'MissedSchedule',
  'What happens with times that passed while no process was running.',
  { SKIP: 'No run.', ONCE: 'One run for all that were missed.' },
)

/** The schedules of a deleted agent stay, so that people can see why they stopped. */
function deletedAgent({ agentId, tenantId, createdAt }: ScheduleShape): AgentShape {
  return {
    ...{ ...unsetAgent, id: agentId, tenantId, key: null, name: 'deleted agent', toolRules: [] },
    ...{ createdAt, updatedAt: createdAt },
  }
}

/** As many as clients are shown. */
const shownTimes = 10

const Schedule = builder.objectRef<ScheduleShape>('Schedule')
implement(Schedule, {
  description: 'Messages that are sent to an agent at certain times. Every due time makes one run.',
  interfaces: [Node],
  fields: (t) => ({
    name: string('Display name. Conversations that the schedule starts have it as title.'),
    agentId: idOf('Agent', 'agentId', 'Id of the agent, which may have been deleted. The schedule is disabled then.'),
    agent: t.field({
      type: Agent,
      description: 'Agent that gets the messages. If it was deleted, one without settings that has its id.',
      resolve: async (schedule, _args, { loaders }) =>
        (await loaders.agents.load(schedule.agentId)) ?? deletedAgent(schedule),
    }),
    conversation: linkOrNull(
      Conversation,
      'conversationId',
      'Conversation that the messages go to. Null: a new one each time, or it was deleted.',
    ),
    cron: string.orNull('Five-field cron expression, read in `timezone`. Null if the schedule is due once, at `at`.'),
    timezone: string('IANA time zone in which `cron` is read.'),
    at: time.orNull('The only time at which the schedule is due. Null if it has a `cron`.'),
    messages: t.field({
      ...of([GivenMessage])('Messages of each run.'),
      // They have no files, which alone belong to a conversation.
      resolve: ({ messages }) => messages.map((message) => ({ ...message, conversationId: '' })),
    }),
    missed: of(MissedSchedule)('What happens with times that passed while no process was running.'),
    enabled: boolean('Whether it has due times.'),
    nextTimes: t.field({
      ...of(['DateTime'])(`The next times, at most ${shownTimes}. Empty if the schedule is disabled or over.`),
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

const settingFields = {
  conversationId: id("Id of one of the agent's conversations. Null, the default, means a new one each time."),
  cron: string(
    'Minute, hour, day of month, month and day of week (7 is Sunday too), with names, lists, ranges and steps: `30 8 * * MON-FRI`. Give either `cron` or `at`; setting one clears the other.',
  ),
  at: time('The only time at which the schedule is due, in the future.'),
  timezone: string("IANA time zone in which `cron` is read. Defaults to the agent's."),
  missed: of(MissedSchedule)(
    'What happens with times that passed while no process was running. Defaults to SKIP with `cron`, to ONCE with `at`.',
  ),
  enabled: boolean(
    'Whether the schedule has due times. Times while it is disabled are never made up. Defaults to true.',
  ),
}

const messages = 'Messages of each run, in order: 1 to 100. Without files and without `clientId`.'
const name = 'Display name, 1 to 200 characters. Conversations that the schedule starts have it as title.'

/** Ids as the server knows them. */
function decoded<Input extends { readonly conversationId?: string | null | undefined }>(input: Input) {
  const { conversationId } = input
  return typeof conversationId === 'string'
    ? { ...input, conversationId: requireUuid('Conversation', conversationId) }
    : input
}

mutation('createSchedule', {
  description: 'Sends messages to an agent at certain times.',
  input: {
    description: 'A new schedule.',
    fields: {
      name: string.required(name),
      agentId: id.required('Id of the agent.'),
      messages: of([NewMessageInput]).required(messages),
      ...settingFields,
      idempotencyKey: idempotencyKeyField,
    },
  },
  result: payload('schedule', Schedule, 'The new schedule.'),
  resolve: (input, context) =>
    createSchedule(context, context.viewer, { ...decoded(input), agentId: requireUuid('Agent', input.agentId) }),
})

mutation('updateSchedule', {
  description: 'Changes a schedule. Its runs stay as they are.',
  input: {
    description: 'Changes to a schedule. Omitted fields stay unchanged.',
    fields: {
      id: id.required('Id of the schedule.'),
      name: string(name),
      messages: of([NewMessageInput])(messages),
      ...settingFields,
    },
  },
  result: payload('schedule', Schedule, 'The changed schedule.'),
  resolve: (input, context) =>
    updateSchedule(context, context.viewer, { ...decoded(input), id: requireUuid('Schedule', input.id) }),
})

deletion('deleteSchedule', {
  description: 'Deletes a schedule. Its runs stay.',
  kind: 'Schedule',
  command: deleteSchedule,
})

mutation('triggerSchedule', {
  description:
    'Starts a run of a schedule now, also of a disabled one. If the conversation is busy, the run waits. Due times are not affected.',
  input: idInput('Schedule', 'The schedule to run.'),
  result: payloadOf({ run: linkTo(Run, 'runId', 'The new run.') }),
  async resolve({ id }, context) {
    return { runId: await triggerSchedule(context, context.viewer, { id: requireUuid('Schedule', id) }) }
  },
})
