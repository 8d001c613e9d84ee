import { sql, type RawBuilder } from 'kysely'

import type { Reach } from '../../domain/access/viewer.ts'
import type { Schedule } from '../../domain/schedules/schedule.ts'
import { cutText, storableText } from '../../util/json.ts'
import { byId, finderOf, rowLockerOf } from '../access/tenant-rows.ts'
import { ofTenant } from '../access/tenant-scope.ts'
import { fromColumns, toColumns } from '../database/columns.ts'
import { readPage, type Page, type PageArguments } from '../database/page.ts'
import type { Db, Row, Trx } from '../database/schema.ts'

export const findSchedules = finderOf('schedules', toSchedule)

/** Oldest first. Without an agent, the schedules of all. */
export function listSchedulesPage(
  db: Db,
  reach: Reach,
  { agentId }: { readonly agentId?: string | undefined },
  page: PageArguments,
): Promise<Page<Schedule>> {
  const all = db.selectFrom('schedules').where(ofTenant('schedules', reach)).selectAll()
  const query = agentId === undefined ? all : all.where('agent_id', '=', agentId)
  return readPage(db, query, page, byId('schedules', toSchedule))
}

/** Locks it against every other change, and keeps it from firing. */
export const lockSchedule = rowLockerOf('schedules', toSchedule, 'for update')

export async function insertSchedule(trx: Trx, schedule: Schedule): Promise<void> {
  const made = toColumns(schedule, ['id', 'tenantId', 'agentId', 'createdAt'], ['createdBy'])
  await trx
    .insertInto('schedules')
    .values({ ...made, ...changeableColumns(schedule) })
    .execute()
}

/** The caller has locked it. */
export async function setSchedule(trx: Trx, schedule: Schedule): Promise<void> {
  await trx.updateTable('schedules').set(changeableColumns(schedule)).where('id', '=', schedule.id).execute()
}

export async function deleteSchedule(trx: Trx, id: string): Promise<void> {
  await trx.deleteFrom('schedules').where('id', '=', id).execute()
}

/** Ends the due times of schedules whose agent or conversation is being deleted, and returns these schedules. */
export async function disableSchedules(
  trx: Trx,
  which: { readonly agentIds: readonly string[] } | { readonly conversationId: string },
  lastError: string,
): Promise<Schedule[]> {
  const isNamed =
    'agentIds' in which
      ? sql`agent_id = any(${which.agentIds}::uuid[])`
      : sql`conversation_id = ${which.conversationId}`
  const { rows } = await sql<Row<'schedules'>>`
    update schedules set enabled = false, next_due = null, last_error = ${lastError}
    where ${isNamed} and enabled returning *`.execute(trx)
  return rows.map(toSchedule)
}

/** How early a sweep marks a schedule as watched: two sweeps. */
const watchedMs = 1_000

/** Whether some schedule is due, or will be before the sweep after the next. */
export function isScheduleDue(now: Date): RawBuilder<boolean> {
  return sql<boolean>`next_due <= ${new Date(now.getTime() + watchedMs)} and not (watched and next_due > ${now})`
}

/** Marks the schedules that will be due in a moment as watched, and returns the ids of those that are due. */
export async function watchSchedules(db: Db, now: Date): Promise<string[]> {
  const { rows } = await sql<{ id: string; is_due: boolean }>`
    with coming as (
      update schedules set watched = true where ${isScheduleDue(now)} and next_due > ${now})
    select id from schedules where next_due <= ${now} order by next_due, id limit ${dueAtOnce}`.execute(db)
  return rows.map(({ id }) => id)
}

const dueAtOnce = 1_000

/** Undefined if it is no longer due, or another process is firing it. */
export async function lockDueSchedule(trx: Trx, id: string, now: Date): Promise<Schedule | undefined> {
  const row = await trx
    .selectFrom('schedules')
    .selectAll()
    .where('id', '=', id)
    .where('next_due', '<=', now)
    .forUpdate()
    .skipLocked()
    .executeTakeFirst()
  return row && toSchedule(row)
}

/** Whether the last run of the schedule has not begun. */
export async function hasQueuedRun(db: Db, id: string): Promise<boolean> {
  const row = await db
    .selectFrom('runs')
    .where('schedule_id', '=', id)
    .orderBy('id', 'desc')
    .select('status')
    .limit(1)
    .executeTakeFirst()
  return row?.status === 'QUEUED'
}

function changeableColumns(schedule: Schedule) {
  const { lastError } = schedule
  return {
    ...toColumns(
      schedule,
      ['name', 'conversationId', 'cron', 'at', 'timezone', 'missed', 'enabled', 'nextDue', 'watched'],
      ['messages'],
    ),
    last_error: lastError === null ? null : cutText(storableText(lastError), 2_000),
  }
}

function toSchedule(row: Row<'schedules'>): Schedule {
  return fromColumns(row)
}
