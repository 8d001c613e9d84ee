import { cronFault } from '../../util/cron.ts'
import { checkedName, checkedTimezone, mergeFields, shown, unchecked, type Given } from '../input.ts'
import { badUserInput } from '../errors.ts'
import type { GivenMessage } from '../conversations/message.ts'
import { settleMessages } from '../context/offered-content.ts'
import { checkedMessages } from '../runs/run-input.ts'
import { dueAfter, nextTimes, type MissedSchedule, type ScheduleSettings } from './schedule.ts'

/** Settings of a schedule. Only `conversationId`, `cron` and `at` may be null. */
export interface ScheduleInput {
  readonly name?: Given<string>
  readonly conversationId?: Given<string>
  readonly cron?: Given<string>
  readonly at?: Given<Date>
  readonly timezone?: Given<string>
  readonly messages?: Given<Parameters<typeof checkedMessages>[1]>
  readonly missed?: Given<MissedSchedule>
  readonly enabled?: Given<boolean>
}

/** Settings after a change. Setting one of `cron` and `at` clears the other. */
export function mergeSchedule(current: ScheduleSettings, input: ScheduleInput, now: Date): ScheduleSettings {
  if (typeof input.cron === 'string' && input.at) {
    throw badUserInput('input.at', 'It cannot be combined with `cron`. Give one of the two.')
  }
  const cleared = typeof input.cron === 'string' ? { at: null } : input.at ? { cron: null } : {}
  const given = { ...input, ...cleared }
  const changed = mergeFields('input', given, {
    current,
    defaults: { conversationId: null, cron: null, at: null },
    checks: {
      name: (field, name) => checkedName(field, name, { max: 200 }),
      conversationId: unchecked,
      timezone: checkedTimezone,
      cron: checkedCron,
      at(field, at) {
        if (at > now) return at
        throw badUserInput(field, `${at.toISOString()} is in the past. Expected a time after ${now.toISOString()}.`)
      },
      messages: checkedScheduleMessages,
      missed: unchecked,
      enabled: unchecked,
    },
  })
  const settings: ScheduleSettings = { ...current, ...changed }
  if (settings.cron === null && settings.at === null) {
    throw badUserInput('input.cron', 'It is missing. Give either `cron` or `at`.')
  }
  if (settings.cron !== null && nextTimes(settings, now, 1).length === 0) {
    throw badUserInput('input.cron', `${shown(settings.cron)} has no due time within ten years.`)
  }
  return settings
}

/** The due time after a change. It stays as it is unless something changed that decides it. */
export function dueAfterChange(
  before: ScheduleSettings & { readonly nextDue: Date | null },
  after: ScheduleSettings,
  now: Date,
): Date | null {
  const isSame =
    before.cron === after.cron &&
    before.at?.getTime() === after.at?.getTime() &&
    before.timezone === after.timezone &&
    before.enabled === after.enabled
  return isSame ? before.nextDue : dueAfter(after, now)
}

function checkedCron(field: string, value: string): string {
  const cron = value.trim()
  const fault = cron.length > 200 ? `It has ${cron.length} characters. At most 200 are allowed.` : cronFault(cron)
  if (fault) throw badUserInput(field, `${shown(value)} is not a cron expression of five fields. ${fault}`)
  return cron
}

/** A file belongs to a conversation, and each run may have another one. */
function checkedScheduleMessages(
  field: string,
  inputs: NonNullable<ScheduleInput['messages']>,
): readonly GivenMessage[] {
  if (inputs.length === 0) throw badUserInput(field, 'It is empty. Expected at least one message.')
  for (const [index, { clientId }] of inputs.entries()) {
    if (typeof clientId !== 'string') continue
    throw badUserInput(
      `${field}.${index}.clientId`,
      'Must be omitted: every run of the schedule would have the same id.',
    )
  }
  const { messages, files } = checkedMessages(field, inputs)
  const [file] = [...files.brought, ...files.named]
  if (file) throw badUserInput(file.field, 'A schedule cannot contain files. Expected text or an http or https URL.')
  return settleMessages(messages, new Map())
}
