import type { Actor } from '../../domain/access/actor.ts'
import { type Schedule, firingOf } from '../../domain/schedules/schedule.ts'
import { shareAgent } from '../../store/agents/agents.ts'
import { insertConversation } from '../../store/conversations/conversations.ts'
import type { Trx } from '../../store/database/schema.ts'
import { transact } from '../../store/database/transact.ts'
import type { CommandContext, IdInput, RunContext } from '../command-context.ts'
import type { ChangeTransaction } from '../../live/change-run.ts'
import { enqueue, newRun } from '../runs/admit.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import { badUserInput } from '../../domain/errors.ts'
import {
  disableSchedules,
  findSchedules,
  hasQueuedRun,
  lockDueSchedule,
  setSchedule,
  watchSchedules,
} from '../../store/schedules/schedules.ts'
import { foundOne } from '../found.ts'
import { encodeId } from '../../domain/ids.ts'
import { tellEvent } from '../../store/webhooks/outbox.ts'

/**
 * Stores a run with the messages of a schedule, in the caller's transaction. Returns its id, or undefined if the agent
 * or the conversation is gone.
 */
async function runSchedule(
  context: RunContext,
  transaction: ChangeTransaction,
  schedule: Schedule,
  sentBy: Actor,
): Promise<string | undefined> {
  const { tenantId, messages } = schedule
  const conversationId = schedule.conversationId ?? (await startConversation(context, transaction.trx, schedule))
  const request = { messages, clientTools: [] }
  const run = newRun(context, { tenantId, scheduleId: schedule.id, sentBy, request })
  const admitted = conversationId && (await enqueue(context, transaction, { conversationId }, run))
  return admitted ? run.id : undefined
}

async function startConversation(
  context: RunContext,
  trx: Trx,
  { tenantId, agentId, name }: Schedule,
): Promise<string | undefined> {
  if (!(await shareAgent(trx, { tenantId }, agentId))) return undefined
  const id = context.ids.next()
  const createdAt = context.clock.now()
  await insertConversation(trx, { id, tenantId, agentId, isMain: false, title: name, metadata: {}, createdAt })
  return id
}

/** Returns the id of the run. Due times are not affected. */
export function triggerSchedule(context: CommandContext, viewer: Viewer, { id }: IdInput): Promise<string> {
  return transact(context, async (trx, afterCommit) => {
    const schedule = await foundOne('Schedule', id, findSchedules(trx, viewer, [id]))
    const runId = await runSchedule(context, { trx, afterCommit }, schedule, viewer.actor)
    if (runId === undefined) throw badUserInput('input.id', goneError(schedule))
    return runId
  })
}

/** Why a schedule was disabled. */
function goneError({ conversationId }: Pick<Schedule, 'conversationId'>): string {
  return conversationId === null ? agentGone : conversationGone
}

const agentGone = 'The agent was deleted.'
const conversationGone = 'The conversation was deleted.'

/** Disables the schedules of an agent or a conversation that is being deleted, and tells webhooks. */
export async function disableSchedulesOf(
  trx: Trx,
  of: { readonly agentIds: readonly string[] } | { readonly conversationId: string },
  now: Date,
): Promise<void> {
  const disabled = await disableSchedules(trx, of, 'agentIds' in of ? agentGone : conversationGone)
  for (const schedule of disabled) await tellFailure(trx, schedule, now)
}

/**
 * Makes the runs that are due. One transaction per due time locks the schedule's row, stores the run and moves the
 * schedule on, so every due time makes one run, however many processes look and wherever one of them dies. `since` is
 * when this process began to watch. A schedule that cannot be fired does not keep the others from firing.
 */
export async function fireSchedules(context: RunContext, { since }: { readonly since: Date }): Promise<void> {
  const errors: unknown[] = []
  for (const id of await watchSchedules(context.db, context.clock.now())) {
    await transact(context, async (trx, afterCommit) => {
      const now = context.clock.now()
      const schedule = await lockDueSchedule(trx, id, now)
      if (!schedule) return
      const fired = await fire(context, { trx, afterCommit }, schedule, { now, since })
      await setSchedule(trx, fired)
      await tellFailure(trx, fired, now)
    }).catch((error: unknown) => void errors.push(error))
  }
  if (errors.length > 0) throw errors[0]
}

/** The schedule after its due time. */
async function fire(
  context: RunContext,
  transaction: ChangeTransaction,
  schedule: Schedule,
  times: { readonly now: Date; readonly since: Date },
): Promise<Schedule> {
  const { runs, nextDue } = firingOf(schedule, times)
  const next = { ...schedule, nextDue, watched: false }
  if (!runs) return { ...next, lastError: 'No process was running when it was due, and `missed` is SKIP.' }
  if (await hasQueuedRun(transaction.trx, schedule.id)) return { ...next, lastError: stillQueued }
  if (await runSchedule(context, transaction, schedule, schedule.createdBy)) return { ...next, lastError: null }
  return { ...next, enabled: false, nextDue: null, lastError: goneError(schedule) }
}

const stillQueued = 'The previous run of this schedule had not begun.'

/** Tells webhooks why a due time made no run, or why the schedule was disabled. */
async function tellFailure(trx: Trx, schedule: Schedule, now: Date): Promise<void> {
  const { id, name, agentId, conversationId, cron, at, timezone, lastError: reason } = schedule
  if (reason === null) return
  await tellEvent(trx, schedule, {
    type: 'SCHEDULE_FAILED',
    timestamp: now.toISOString(),
    data: {
      schedule: {
        ...{ id: encodeId('Schedule', id), name, agentId: encodeId('Agent', agentId) },
        conversationId: conversationId === null ? null : encodeId('Conversation', conversationId),
        ...{ cron, at: at?.toISOString() ?? null, timezone },
      },
      reason,
    },
  })
}
