import { createSchedule, deleteSchedule, updateSchedule } from '../../commands/schedules/create-schedule.ts'
import { triggerSchedule } from '../../commands/schedules/run-schedule.ts'
import type { InputFieldBuilder } from '../builder.ts'
import { NewMessageInput } from '../conversations/given-message.ts'
import { loadExisting } from '../load-existing.ts'
import { deletion, idempotencyKeyField, idInput, mutation, payload, payloadOf } from '../mutation.ts'
import { requireUuid } from '../node.ts'
import { Run, Schedule } from '../refs.ts'
import { MissedSchedule } from './schedule.ts'

function settingFields(t: InputFieldBuilder) {
  return {
    conversationId: t.id({
      description: "Id of one of the agent's conversations. Null, the default, means a new one each time.",
    }),
    cron: t.string({
      description:
        'Minute, hour, day of month, month and day of week (7 is Sunday too), with names, lists, ranges and steps: `30 8 * * MON-FRI`. Give either `cron` or `at`; setting one clears the other.',
    }),
    at: t.field({ type: 'DateTime', description: 'The only time at which the schedule is due, in the future.' }),
    timezone: t.string({ description: "IANA time zone in which `cron` is read. Defaults to the agent's." }),
    missed: t.field({
      type: MissedSchedule,
      description:
        'What happens with times that passed while no process was running. Defaults to SKIP with `cron`, to ONCE with `at`.',
    }),
    enabled: t.boolean({
      description:
        'Whether the schedule has due times. Times while it is disabled are never made up. Defaults to true.',
    }),
  }
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
    fields: (t) => ({
      name: t.string({ required: true, description: name }),
      agentId: t.id({ required: true, description: 'Id of the agent.' }),
      messages: t.field({ type: [NewMessageInput], required: true, description: messages }),
      ...settingFields(t),
      idempotencyKey: t.string(idempotencyKeyField),
    }),
  },
  result: payload('schedule', Schedule, 'The new schedule.'),
  resolve: (input, context) =>
    createSchedule(context, context.viewer, { ...decoded(input), agentId: requireUuid('Agent', input.agentId) }),
})

mutation('updateSchedule', {
  description: 'Changes a schedule. Its runs stay as they are.',
  input: {
    description: 'Changes to a schedule. Omitted fields stay unchanged.',
    fields: (t) => ({
      id: t.id({ required: true, description: 'Id of the schedule.' }),
      name: t.string({ description: name }),
      messages: t.field({ type: [NewMessageInput], description: messages }),
      ...settingFields(t),
    }),
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
  result: payloadOf<string>((t) => ({
    run: t.field({
      type: Run,
      description: 'The new run.',
      resolve: (id, _args, { loaders }) => loadExisting(loaders.runs, 'Run', id),
    }),
  })),
  resolve: ({ id }, context) => triggerSchedule(context, context.viewer, { id: requireUuid('Schedule', id) }),
})
