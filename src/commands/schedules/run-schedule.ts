import type { Actor } from '../../domain/access/actor.ts'
import type { Schedule } from '../../domain/schedules/schedule.ts'
import { shareAgent } from '../../store/agents/agents.ts'
import { insertConversation } from '../../store/conversations/conversations.ts'
import type { Trx } from '../../store/database/schema.ts'
import { transact, type AfterCommit } from '../../store/database/transact.ts'
import type { CommandContext, RunContext } from '../command-context.ts'
import { enqueue, newRun } from '../runs/admit.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import { badUserInput } from '../../domain/errors.ts'
import { findSchedules } from '../../store/schedules/schedules.ts'
import { found } from '../found.ts'

/**
 * Stores a run with the messages of a schedule, in the caller's transaction. Returns its id, or undefined if the agent
 * or the conversation is gone.
 */
export async function runSchedule(
  context: RunContext,
  { trx, afterCommit }: { readonly trx: Trx; readonly afterCommit: AfterCommit },
  schedule: Schedule,
  sentBy: Actor,
): Promise<string | undefined> {
  const { tenantId, messages } = schedule
  const conversationId = schedule.conversationId ?? (await startConversation(context, trx, schedule))
  const request = { messages, clientTools: [] }
  const run = newRun(context, { tenantId, scheduleId: schedule.id, sentBy, request })
  const admitted = conversationId && (await enqueue(context, { trx, afterCommit }, { conversationId }, run))
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
export function triggerSchedule(
  context: CommandContext,
  viewer: Viewer,
  { id }: { readonly id: string },
): Promise<string> {
  return transact(context, async (trx, afterCommit) => {
    const [schedule] = await findSchedules(trx, viewer, [id])
    const runId = await runSchedule(context, { trx, afterCommit }, found('Schedule', id, schedule), viewer.actor)
    if (runId === undefined) throw badUserInput('input.id', goneError(schedule!))
    return runId
  })
}

/** Why a schedule was disabled. */
export function goneError({ conversationId }: Pick<Schedule, 'conversationId'>): string {
  return conversationId === null ? agentGone : conversationGone
}

export const agentGone = 'The agent was deleted.'
export const conversationGone = 'The conversation was deleted.'
