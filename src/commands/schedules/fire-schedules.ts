import { firingOf, type Schedule } from '../../domain/schedules/schedule.ts'
import type { Trx } from '../../store/database/schema.ts'
import { transact, type AfterCommit } from '../../store/database/transact.ts'
import { hasQueuedRun, lockDueSchedule, setSchedule, watchSchedules } from '../../store/schedules/schedules.ts'
import type { RunContext } from '../command-context.ts'
import { goneError, runSchedule } from './run-schedule.ts'
import { tellFailure } from './tell-failure.ts'

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
  transaction: { readonly trx: Trx; readonly afterCommit: AfterCommit },
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
