import { sql, type Kysely, type Selectable } from 'kysely'

import type { AuditEntry } from '../domain/access/audit.ts'
import type { Reach } from '../domain/access/viewer.ts'
import { firstIdAt } from '../util/ids.ts'
import { storableText } from '../util/json.ts'
import { countRows, readPage, type Page, type PageArguments } from './database/page.ts'
import { idSlackMs } from './runs/runs.ts'
import type { Database } from './database/schema.ts'
import { ofTenant } from './access/tenant-scope.ts'

/** All given fields must match. An empty list matches nothing. */
export interface AuditLogFilter {
  readonly subjectId?: string | null | undefined
  readonly actorId?: string | null | undefined
  readonly actions?: readonly string[] | null | undefined
  readonly since?: Date | null | undefined
  readonly until?: Date | null | undefined
}

export async function insertAuditEntries(trx: Kysely<Database>, entries: readonly AuditEntry[]): Promise<void> {
  if (entries.length === 0) return
  await trx
    .insertInto('audit_entries')
    .values(
      entries.map(({ id, tenantId, at, actor, action, subjectId, before, after }) => ({
        id,
        tenant_id: tenantId,
        at,
        actor: actor && JSON.stringify(actor),
        action,
        subject_id: subjectId,
        before: before && JSON.stringify(before),
        after: after && JSON.stringify(after),
      })),
    )
    .execute()
}

export async function findAuditEntries(
  db: Kysely<Database>,
  reach: Reach,
  ids: readonly string[],
): Promise<AuditEntry[]> {
  const rows = await entriesOf(db, reach, {})
    .where(sql<boolean>`id = any(${ids}::uuid[])`)
    .selectAll()
    .execute()
  return rows.map(toAuditEntry)
}

/** Newest first. */
export function listAuditEntriesPage(
  db: Kysely<Database>,
  reach: Reach,
  { filter, page }: { readonly filter: AuditLogFilter; readonly page: PageArguments },
): Promise<Page<AuditEntry>> {
  return readPage(entriesOf(db, reach, filter).selectAll(), page, {
    key: 'audit_entries.id',
    kind: 'uuid',
    order: 'newest first',
    keyOf: (row) => row.id,
    toNode: toAuditEntry,
  })
}

export function countAuditEntries(db: Kysely<Database>, reach: Reach, filter: AuditLogFilter): Promise<number> {
  return countRows(db, entriesOf(db, reach, filter).select('id'))
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

function entriesOf(db: Kysely<Database>, reach: Reach, { subjectId, actorId, actions, since, until }: AuditLogFilter) {
  let query = db.selectFrom('audit_entries').where(ofTenant('audit_entries', reach))
  if (typeof subjectId === 'string') query = query.where('subject_id', '=', storableText(subjectId))
  if (typeof actorId === 'string') query = query.where(sql<boolean>`actor ->> 'id' = ${storableText(actorId)}`)
  if (actions) query = query.where(sql<boolean>`action = any(${actions.map(storableText)}::text[])`)
  if (since) query = query.where(isSince(since))
  if (until) query = query.where(isBefore(until))
  return query
}

function toAuditEntry(row: Selectable<Database['audit_entries']>): AuditEntry {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    at: row.at,
    actor: row.actor,
    action: row.action,
    subjectId: row.subject_id,
    before: row.before,
    after: row.after,
  }
}
