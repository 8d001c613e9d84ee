import { cronTimes } from '../../util/cron.ts'
import type { Actor } from '../access/actor.ts'
import type { GivenMessage } from '../conversations/message.ts'

/** What happens with times that passed while no process was running. */
export type MissedSchedule = 'SKIP' | 'ONCE'

/** When a schedule is due: exactly one of `cron` and `at` is set. */
export interface ScheduleTimes {
  /** Five fields, read in `timezone`. */
  readonly cron: string | null
  readonly at: Date | null
  readonly timezone: string
}

export interface ScheduleSettings extends ScheduleTimes {
  readonly name: string
  readonly agentId: string
  /** Null means a new conversation each time. */
  readonly conversationId: string | null
  readonly messages: readonly GivenMessage[]
  readonly missed: MissedSchedule
  readonly enabled: boolean
}

export interface Schedule extends ScheduleSettings {
  readonly id: string
  readonly tenantId: string
  /** Null if it is disabled or over. */
  readonly nextDue: Date | null
  /** A process was running shortly before `nextDue`, so that time is not missed, whatever happens to the process. */
  readonly watched: boolean
  readonly lastError: string | null
  readonly createdBy: Actor
  readonly createdAt: Date
}

/** The next times after `after`, in order. */
export function nextTimes({ cron, at, timezone }: ScheduleTimes, after: Date, count: number): Date[] {
  if (cron !== null) return [...cronTimes({ cron, timezone }, after).take(count)]
  return at && at > after ? [at] : []
}

/** The next due time of a schedule whose settings changed. */
export function dueAfter(schedule: ScheduleSettings, now: Date): Date | null {
  return schedule.enabled ? (nextTimes(schedule, now, 1)[0] ?? null) : null
}

export interface Firing {
  /** Whether a run is due. False if all times that passed are skipped. */
  readonly runs: boolean
  readonly nextDue: Date | null
}

/**
 * What to do with a schedule whose time has come. Times before `since`, when this process began to watch, were missed,
 * unless another process watched.
 */
export function firingOf(schedule: Schedule, { now, since }: { readonly now: Date; readonly since: Date }): Firing {
  const { nextDue, watched, missed } = schedule
  const after = (time: Date) => nextTimes(schedule, time, 1)[0] ?? null
  if (!nextDue || nextDue > now) return { runs: false, nextDue }
  if (watched || nextDue >= since) return { runs: true, nextDue: after(nextDue) }
  if (missed === 'ONCE') return { runs: true, nextDue: after(now) }
  const next = after(new Date(since.getTime() - 1))
  // One of its times was missed, and a later one has come since.
  return next && next <= now ? { runs: true, nextDue: after(next) } : { runs: false, nextDue: next }
}
