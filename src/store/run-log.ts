import { sql, type Kysely } from 'kysely'

import type { LogEntry } from '../domain/run-event.ts'
import { unpackEntries } from './log-entries.ts'
import type { Database } from './schema.ts'

export interface StoredEntry {
  readonly seq: number
  readonly at: Date
  readonly entry: LogEntry
}

/**
 * The entries of a run's log that follow `after`, in order: those of at most `checkpoints` checkpoints, each of which
 * has at least one. The caller has made sure that the run is its viewer's.
 */
export async function listLogEntries(
  db: Kysely<Database>,
  runId: string,
  options: { readonly after: number; readonly checkpoints: number },
): Promise<StoredEntry[]> {
  const rows = await db
    .selectFrom('run_log')
    .where('run_id', '=', runId)
    // The row that packs the entry after `after` may begin before it.
    .where(
      sql<boolean>`first_seq >= coalesce((
        select max(first_seq) from run_log where run_id = ${runId} and first_seq <= ${options.after}::integer + 1), 0)`,
    )
    .select(['first_seq', 'at', 'entries'])
    .orderBy('first_seq')
    .limit(options.checkpoints)
    .execute()
  return rows.flatMap((row) =>
    unpackEntries(row.entries)
      .map((entry, index) => ({ seq: row.first_seq + index, at: row.at, entry }))
      .filter(({ seq }) => seq > options.after),
  )
}
