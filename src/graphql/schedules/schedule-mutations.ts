import { createSchedule, deleteSchedule, updateSchedule } from '../../commands/schedules/create-schedule.ts'
import { triggerSchedule } from '../../commands/schedules/run-schedule.ts'
import { NewMessageInput } from '../conversations/given-message.ts'
import { linkTo } from '../load-existing.ts'
import { deletion, idempotencyKeyField, idInput, mutation, payload, payloadOf } from '../mutation.ts'
import { requireUuid } from '../node.ts'
import { Run, Schedule } from '../refs.ts'
import { MissedSchedule } from './schedule.ts'
import { boolean, id, of, string, time } from '../fields.ts'

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
