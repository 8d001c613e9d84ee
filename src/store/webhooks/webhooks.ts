import { sql } from 'kysely'

import type { Reach } from '../../domain/access/viewer.ts'
import type { Webhook } from '../../domain/webhooks/webhook.ts'
import { ofTenant } from '../access/tenant-scope.ts'
import { fromColumns } from '../database/columns.ts'
import { readPage, type Page, type PageArguments } from '../database/page.ts'
import type { Db, Row, Trx } from '../database/schema.ts'

export async function findWebhooks(db: Db, reach: Reach, ids: readonly string[]): Promise<Webhook[]> {
  const rows = await webhooksOfTenant(db, reach)
    .where(sql<boolean>`id = any(${ids}::uuid[])`)
    .execute()
  return rows.map(toWebhook)
}

/** Oldest first. */
export function listWebhooksPage(db: Db, reach: Reach, page: PageArguments): Promise<Page<Webhook>> {
  return readPage(db, webhooksOfTenant(db, reach), page, {
    key: 'webhooks.id',
    kind: 'uuid',
    order: 'oldest first',
    keyOf: (row) => row.id,
    toNode: toWebhook,
  })
}

export async function lockWebhook(trx: Trx, reach: Reach, id: string): Promise<Webhook | undefined> {
  const row = await webhooksOfTenant(trx, reach).where('id', '=', id).forUpdate().executeTakeFirst()
  return row && toWebhook(row)
}

export async function insertWebhook(trx: Trx, webhook: Webhook): Promise<void> {
  const { id, tenantId, createdBy, createdAt } = webhook
  await trx
    .insertInto('webhooks')
    .values({
      id,
      tenant_id: tenantId,
      created_by: JSON.stringify(createdBy),
      created_at: createdAt,
      ...changeableColumns(webhook),
    })
    .execute()
}

/** The caller has locked it. */
export async function setWebhook(trx: Trx, webhook: Webhook): Promise<void> {
  await trx.updateTable('webhooks').set(changeableColumns(webhook)).where('id', '=', webhook.id).execute()
}

/** Its deliveries go with it. */
export async function deleteWebhook(trx: Trx, id: string): Promise<void> {
  await trx.deleteFrom('webhooks').where('id', '=', id).execute()
  await trx.deleteFrom('webhook_deliveries').where('webhook_id', '=', id).execute()
}

function webhooksOfTenant(db: Db, reach: Reach) {
  return db.selectFrom('webhooks').where(ofTenant('webhooks', reach)).selectAll()
}

function changeableColumns(webhook: Webhook) {
  const { url, events, agentIds, headers, enabled, secret, oldSecret, lastError } = webhook
  return {
    url,
    events: [...events],
    agent_ids: agentIds && [...agentIds],
    headers: JSON.stringify(headers),
    enabled,
    secret,
    old_secret: oldSecret?.sealed ?? null,
    old_secret_until: oldSecret?.until ?? null,
    last_error: lastError,
  }
}

function toWebhook(row: Row<'webhooks'>): Webhook {
  const { old_secret: sealed, old_secret_until: until } = row
  return {
    ...fromColumns(row, ['old_secret', 'old_secret_until']),
    oldSecret: sealed && until && { sealed, until },
  } as Webhook
}
