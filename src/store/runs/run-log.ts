import { sql } from 'kysely'

import type { LogEntry } from '../../domain/runs/run-event.ts'
import { noUsage } from '../../domain/models/usage.ts'
import { packEntries, packedId, unpackEntries } from './log-entries.ts'
import { isBegun } from './runs.ts'
import type { Db } from '../database/schema.ts'

export interface StoredEntry {
  readonly seq: number
  readonly at: Date
  readonly entry: LogEntry
}

/**
 * The entries of a run's log after `after`, in order, from at most `checkpoints` checkpoints, each of which has at
 * least one entry. The first entry (the run was queued) is not stored but derived from the run's row, and so are those
 * of a run that began in the statement that stored it. The caller has checked that the viewer may see the run.
 */
export async function listLogEntries(
  db: Db,
  runId: string,
  options: { readonly after: number; readonly checkpoints: number },
): Promise<StoredEntry[]> {
  const { rows } = await sql<{ first_seq: number; at: Date; entries: string }>`
    select 1 as first_seq, created_at as at, ${packEntries([queued])} as entries from runs
    where id = ${runId} and ${options.after} < 1
      and not exists (select from run_log where run_id = ${runId} and first_seq = 1)
    union all
    select 2, created_at, ${beginning} from runs
    where id = ${runId} and ${options.after} < ${lastOfBeginning} and ${hasBeginning}
    union all
    select first_seq, at, entries from run_log
    where run_id = ${runId}
      -- The row that contains the entry after \`after\` may begin before it.
      and first_seq >= coalesce((
        select max(first_seq) from run_log where run_id = ${runId} and first_seq <= ${options.after}::integer + 1), 0)
    order by first_seq limit ${options.checkpoints}`.execute(db)
  return rows.flatMap((row) =>
    unpackEntries(row.entries)
      .map((entry, index) => ({ seq: row.first_seq + index, at: row.at, entry }))
      .filter(({ seq }) => seq > options.after),
  )
}

/** Whether retention has deleted the entry that follows `seq`. The first entry is never deleted. */
export async function isLogDeletedAfter(db: Db, runId: string, seq: number): Promise<boolean> {
  if (seq <= 0) return false
  const { rows } = await sql<{ deleted: boolean | null }>`
    select not ${hasBeginning} and (select min(first_seq) from run_log where run_id = ${runId}) > ${seq}::integer + 1
      as deleted
    from runs where id = ${runId}`.execute(db)
  return rows[0]?.deleted === true
}

const queued: LogEntry = {
  type: 'status',
  status: 'QUEUED',
  stopReason: null,
  error: null,
  usage: { ...noUsage, steps: 0 },
}

/** What the statement that stored the run would have logged: it is running, its messages, and its first step. */
const beginning = sql`(
  select '[["s","RUNNING"],' || string_agg('["m","' || ${packedId(sql`messages.id`)} || '"],', '' order by position) || '["b",0]]'
  from messages where messages.conversation_id = runs.conversation_id and position >= first_position
    and position < first_position + (runs.request -> 'messages')::integer)`

const lastOfBeginning = sql`3 + (runs.request -> 'messages')::integer`

/** Whether the first entry that is stored follows such a beginning: retention has deleted neither, and no fork copied it. */
const hasBeginning = sql<boolean>`(${isBegun} and coalesce((
  select min(first_seq) from run_log where run_id = runs.id), ${lastOfBeginning} + 1) = ${lastOfBeginning} + 1)`
