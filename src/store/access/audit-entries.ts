import { sql } from 'kysely'

import type { AuditEntry } from '../../domain/access/audit.ts'
import type { Reach } from '../../domain/access/viewer.ts'
import { firstIdAt, idSlackMs } from '../../util/ids.ts'
import { storableText } from '../../util/json.ts'
import { fromColumns, toColumns } from '../database/columns.ts'
import { readPage, type Page, type PageArguments } from '../database/page.ts'
import type { Db, Row } from '../database/schema.ts'
import { byId, finderOf } from './tenant-rows.ts'
import { ofTenant } from './tenant-scope.ts'

/** All given fields must match. An empty list matches nothing. */
export interface AuditLogFilter {
  readonly subjectId?: string | null | undefined
  readonly actorId?: string | null | undefined
  readonly actions?: readonly string[] | null | undefined
  readonly since?: Date | null | undefined
  readonly until?: Date | null | undefined
}

export async function insertAuditEntries(trx: Db, entries: readonly AuditEntry[]): Promise<void> {
  if (entries.length === 0) return
  await trx
    .insertInto('audit_entries')
    .values(
      entries.map((entry) =>
        toColumns(entry, ['id', 'tenantId', 'at', 'action', 'subjectId'], ['actor', 'before', 'after']),
      ),
    )
    .execute()
}

export const findAuditEntries = finderOf('audit_entries', toAuditEntry)

/** Newest first. */
export function listAuditEntriesPage(
  db: Db,
  reach: Reach,
  { filter, page }: { readonly filter: AuditLogFilter; readonly page: PageArguments },
): Promise<Page<AuditEntry>> {
  return readPage(db, entriesOf(db, reach, filter).selectAll(), page, {
    ...byId('audit_entries', toAuditEntry),
    order: 'newest first',
  })
}

/** An id's time and its row's time may differ slightly. The bound on the id lets the query use the index. */
function isBefore(time: Date) {
  const slack = new Date(time.getTime() + idSlackMs)
  return sql<boolean>`at < ${time} and id < ${firstIdAt(slack)}::uuid`
}

function isSince(time: Date) {
  const slack = new Date(time.getTime() - idSlackMs)
  return sql<boolean>`at >= ${time} and id >= ${firstIdAt(slack)}::uuid`
}

function entriesOf(db: Db, reach: Reach, { subjectId, actorId, actions, since, until }: AuditLogFilter) {
  let query = db.selectFrom('audit_entries').where(ofTenant('audit_entries', reach))
  if (typeof subjectId === 'string') query = query.where('subject_id', '=', storableText(subjectId))
  if (typeof actorId === 'string') query = query.where(sql<boolean>`actor ->> 'id' = ${storableText(actorId)}`)
  if (actions) query = query.where(sql<boolean>`action = any(${actions.map(storableText)}::text[])`)
  if (since) query = query.where(isSince(since))
  if (until) query = query.where(isBefore(until))
  return query
}

function toAuditEntry(row: Row<'audit_entries'>): AuditEntry {
  return fromColumns(row)
}
