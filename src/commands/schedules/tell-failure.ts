import { encodeId } from '../../domain/ids.ts'
import type { Schedule } from '../../domain/schedules/schedule.ts'
import type { Trx } from '../../store/database/schema.ts'
import { tellEvent } from '../../store/webhooks/outbox.ts'

/** Tells webhooks why a due time made no run, or why the schedule was disabled. */
export async function tellFailure(trx: Trx, schedule: Schedule, now: Date): Promise<void> {
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
