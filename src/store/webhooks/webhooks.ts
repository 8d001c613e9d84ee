import type { Reach } from '../../domain/access/viewer.ts'
import type { Webhook } from '../../domain/webhooks/webhook.ts'
import { byId, finderOf, rowLockerOf } from '../access/tenant-rows.ts'
import { ofTenant } from '../access/tenant-scope.ts'
import { fromColumns, toColumns } from '../database/columns.ts'
import { readPage, type Page, type PageArguments } from '../database/page.ts'
import type { Db, Row, Trx } from '../database/schema.ts'

export const findWebhooks = finderOf('webhooks', toWebhook)

/** Oldest first. */
export function listWebhooksPage(db: Db, reach: Reach, page: PageArguments): Promise<Page<Webhook>> {
  const query = db.selectFrom('webhooks').where(ofTenant('webhooks', reach)).selectAll()
  return readPage(db, query, page, byId('webhooks', toWebhook))
}

export const lockWebhook = rowLockerOf('webhooks', toWebhook, 'for update')

export async function insertWebhook(trx: Trx, webhook: Webhook): Promise<void> {
  const made = toColumns(webhook, ['id', 'tenantId', 'createdAt'], ['createdBy'])
  await trx
    .insertInto('webhooks')
    .values({ ...made, ...changeableColumns(webhook) })
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

function changeableColumns({ oldSecret, ...webhook }: Webhook) {
  return {
    ...toColumns(webhook, ['url', 'events', 'agentIds', 'enabled', 'secret', 'lastError'], ['headers']),
    old_secret: oldSecret?.sealed ?? null,
    old_secret_until: oldSecret?.until ?? null,
  }
}

function toWebhook(row: Row<'webhooks'>): Webhook {
  const { old_secret: sealed, old_secret_until: until } = row
  return {
    ...fromColumns(row, ['old_secret', 'old_secret_until']),
    oldSecret: sealed && until && { sealed, until },
  } as Webhook
}
