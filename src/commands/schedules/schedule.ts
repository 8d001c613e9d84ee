import type { Viewer } from '../../domain/access/viewer.ts'
import { badUserInput } from '../../domain/errors.ts'
import type { Given } from '../../domain/input.ts'
import { dueAfter, type Schedule, type ScheduleSettings } from '../../domain/schedules/schedule.ts'
import { dueAfterChange, mergeSchedule, type ScheduleInput } from '../../domain/schedules/schedule-input.ts'
import { findAgents, shareAgent } from '../../store/agents/agents.ts'
import { findConversations } from '../../store/conversations/conversations.ts'
import type { Trx } from '../../store/database/schema.ts'
import {
  deleteSchedule as deleteStored,
  findSchedules,
  insertSchedule,
  lockSchedule,
  setSchedule,
} from '../../store/schedules/schedules.ts'
import type { CommandContext, IdInput } from '../command-context.ts'
import { createOnce } from '../create-once.ts'
import { found, foundOne } from '../found.ts'
import { changeOf, recordChange } from '../record-change.ts'
import { transact } from '../../store/database/transact.ts'

export interface CreateScheduleInput extends ScheduleInput {
  readonly agentId: string
  readonly idempotencyKey?: Given<string>
}

export function createSchedule(context: CommandContext, viewer: Viewer, input: CreateScheduleInput): Promise<Schedule> {
  const { agentId } = input
  const defaults = { missed: input.cron ? 'SKIP' : 'ONCE', enabled: true } as const
  const creation = { mutation: 'createSchedule', kind: 'Schedule', input, defaults, find: findSchedules } as const
  return createOnce(context, viewer, creation, async (trx) => {
    found('Agent', agentId, await shareAgent(trx, viewer, agentId))
    const { timezone } = await foundOne('Agent', agentId, findAgents(trx, viewer, [agentId]))
    const now = context.clock.now()
    const unset = { name: '', agentId, conversationId: null, cron: null, at: null, timezone, messages: [], ...defaults }
    // Null restores a default, and a new schedule has nothing but defaults.
    const given = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null))
    const settings = mergeSchedule(unset, given, now)
    await checkConversation(trx, viewer, settings)
    const schedule: Schedule = {
      ...settings,
      id: context.ids.next(),
      tenantId: viewer.tenantId,
      nextDue: dueAfter(settings, now),
      watched: false,
      lastError: null,
      createdBy: viewer.actor,
      createdAt: now,
    }
    await insertSchedule(trx, schedule)
    await recordChange(context, trx, viewer, changeOf('createSchedule', 'Schedule', null, schedule))
    return schedule
  })
}

/** The conversation must belong to the agent. */
async function checkConversation(
  trx: Trx,
  viewer: Viewer,
  { agentId, conversationId }: Pick<ScheduleSettings, 'agentId' | 'conversationId'>,
): Promise<void> {
  if (conversationId === null) return
  const conversation = await foundOne('Conversation', conversationId, findConversations(trx, viewer, [conversationId]))
  if (conversation.agentId !== agentId) throw badUserInput('input.conversationId', 'It belongs to another agent.')
}

export interface UpdateScheduleInput extends ScheduleInput {
  readonly id: string
}

/** Omitted fields stay unchanged. */
export function updateSchedule(
  context: CommandContext,
  viewer: Viewer,
  { id, ...input }: UpdateScheduleInput,
): Promise<Schedule> {
  return transact(context, async (trx) => {
    const before = found('Schedule', id, await lockSchedule(trx, viewer, id))
    const now = context.clock.now()
    const settings = mergeSchedule(before, input, now)
    const nextDue = dueAfterChange(before, settings, now)
    // What is gone may be named by a schedule only while it is disabled.
    if (settings.enabled) found('Agent', before.agentId, await shareAgent(trx, viewer, before.agentId))
    if (settings.enabled || settings.conversationId !== before.conversationId)
      await checkConversation(trx, viewer, settings)
    const watched = before.watched && nextDue?.getTime() === before.nextDue?.getTime()
    const after: Schedule = { ...before, ...settings, nextDue, watched }
    await setSchedule(trx, after)
    await recordChange(context, trx, viewer, changeOf('updateSchedule', 'Schedule', before, after))
    return after
  })
}

/** Its runs stay. */
export async function deleteSchedule(context: CommandContext, viewer: Viewer, { id }: IdInput): Promise<void> {
  await transact(context, async (trx) => {
    const schedule = found('Schedule', id, await lockSchedule(trx, viewer, id))
    await deleteStored(trx, id)
    await recordChange(context, trx, viewer, changeOf('deleteSchedule', 'Schedule', schedule, null))
  })
}
