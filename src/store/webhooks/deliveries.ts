import { sql, type RawBuilder } from 'kysely'

import type { Reach } from '../../domain/access/viewer.ts'
import {
  waitAfter,
  type AttemptOutcome,
  type DeliveryStatus,
  type WebhookDelivery,
} from '../../domain/webhooks/webhook.ts'
import { ofTenant } from '../access/tenant-scope.ts'
import { fromColumns } from '../database/columns.ts'
import { readPage, type Page, type PageArguments } from '../database/page.ts'
import type { Db, Row, Trx } from '../database/schema.ts'

export async function findDeliveries(db: Db, reach: Reach, ids: readonly string[]): Promise<WebhookDelivery[]> {
  const rows = await deliveriesOfTenant(db, reach)
    .where(sql<boolean>`id = any(${ids}::uuid[])`)
    .execute()
  return rows.map(toDelivery)
}

/** Newest first. */
export function listDeliveriesPage(
  db: Db,
  reach: Reach,
  { webhookId, status }: { readonly webhookId: string; readonly status?: DeliveryStatus | null | undefined },
  page: PageArguments,
): Promise<Page<WebhookDelivery>> {
  const all = deliveriesOfTenant(db, reach).where('webhook_id', '=', webhookId)
  return readPage(db, status ? all.where('status', '=', status) : all, page, {
    key: 'webhook_deliveries.seq',
    kind: 'bigint',
    order: 'newest first',
    keyOf: (row) => row.seq,
    toNode: toDelivery,
  })
}

export async function lockDelivery(trx: Trx, reach: Reach, id: string): Promise<WebhookDelivery | undefined> {
  const row = await deliveriesOfTenant(trx, reach).where('id', '=', id).forUpdate().executeTakeFirst()
  return row && toDelivery(row)
}

/** An attempt that was made at once, as by `testWebhook`: there is no other. */
export async function insertTriedDelivery(
  trx: Trx,
  { id, tenantId, webhookId, event, payload, publicUrl, createdAt }: WebhookDelivery,
  outcome: AttemptOutcome,
  now: Date,
): Promise<WebhookDelivery> {
  const row = await trx
    .insertInto('webhook_deliveries')
    .values({
      id,
      tenant_id: tenantId,
      webhook_id: webhookId,
      event,
      payload: JSON.stringify(payload),
      public_url: publicUrl,
      created_at: createdAt,
      attempts: 1,
      status: outcome.ok ? 'DELIVERED' : 'DEAD',
      ...outcomeColumns(outcome, now),
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  return toDelivery(row)
}

/** Its attempts start again. */
export async function resetDelivery(trx: Trx, id: string, now: Date): Promise<WebhookDelivery> {
  const row = await trx
    .updateTable('webhook_deliveries')
    .set({ status: 'PENDING', attempts: 0, next_attempt_at: now, worker_id: null, delivered_at: null })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
  return toDelivery(row)
}

/** How many deliveries of one webhook a process sends at a time: one if the last attempt failed. */
const atOnce = 8

/** No living worker is sending the delivery. */
const isFree = sql`(worker_id is null or not exists (select from workers where workers.id = worker_id))`

/** Whether some delivery can be sent. */
export function hasDueDelivery(now: Date): RawBuilder<boolean> {
  return sql<boolean>`exists (select from webhooks where enabled and exists (
    select from webhook_deliveries where webhook_id = webhooks.id and status = 'PENDING' and next_attempt_at <= ${now}
      and ${isFree}))`
}

/**
 * Marks deliveries that are due as being sent by this worker, and returns them. Of one conversation, a webhook gets one
 * at a time, in order; a delivery that waits for its next attempt does not hold up later ones. `sending` has how many
 * deliveries of each webhook this process is sending.
 */
export async function claimDeliveries(
  db: Db,
  options: {
    readonly workerId: string
    readonly now: Date
    readonly publicUrl: string | undefined
    readonly sending: Readonly<Record<string, number>>
    readonly most: number
  },
): Promise<WebhookDelivery[]> {
  const { workerId, now, publicUrl, sending, most } = options
  const { rows } = await sql<Row<'webhook_deliveries'>>`
    with due as materialized (
      select delivery.id from webhooks cross join lateral (
        select id, next_attempt_at from webhook_deliveries due
        where webhook_id = webhooks.id and status = 'PENDING' and next_attempt_at <= ${now} and ${isFree}
          and not exists (
            select from webhook_deliveries earlier
            where earlier.conversation_id = due.conversation_id and earlier.webhook_id = due.webhook_id
              and earlier.seq < due.seq and earlier.status = 'PENDING' and earlier.next_attempt_at <= ${now})
        order by next_attempt_at, seq
        limit greatest(0, case when webhooks.last_error is null then ${atOnce} else 1 end
          - coalesce((${JSON.stringify(sending)}::jsonb ->> webhooks.id::text)::integer, 0))
      ) delivery
      where webhooks.enabled order by delivery.next_attempt_at limit ${most}),
    free as materialized (
      select id from webhook_deliveries where id in (select id from due) and status = 'PENDING'
        and next_attempt_at <= ${now} and ${isFree} for no key update skip locked)
    update webhook_deliveries set worker_id = ${workerId}, attempts = attempts + 1,
      public_url = coalesce(public_url, ${publicUrl ?? ''})
    from free where webhook_deliveries.id = free.id
    returning webhook_deliveries.*`.execute(db)
  return rows.map(toDelivery)
}

/**
 * Stores how an attempt went, unless someone else has the delivery now. 410 disables the webhook and ends everything
 * that waits. The webhook is locked before its deliveries, as everywhere.
 */
export async function settleDelivery(
  trx: Trx,
  { id, webhookId, attempts }: WebhookDelivery,
  outcome: AttemptOutcome,
  { workerId, now, random }: { readonly workerId: string; readonly now: Date; readonly random: number },
): Promise<void> {
  await noteOutcome(trx, webhookId, outcome, id)
  const wait = outcome.ok || outcome.status === 410 ? undefined : waitAfter(attempts, random)
  const status = outcome.ok ? 'DELIVERED' : wait === undefined ? 'DEAD' : 'PENDING'
  await trx
    .updateTable('webhook_deliveries')
    .set({
      status,
      worker_id: null,
      next_attempt_at: wait === undefined ? null : new Date(now.getTime() + wait),
      ...outcomeColumns(outcome, now),
    })
    .where('id', '=', id)
    .where('worker_id', '=', workerId)
    .execute()
}

/** What an attempt says about the webhook and about its other deliveries. */
export async function noteOutcome(
  trx: Trx,
  webhookId: string,
  outcome: AttemptOutcome,
  deliveryId: string,
): Promise<void> {
  const lastError = outcome.ok ? null : outcome.error
  const isGone = outcome.status === 410
  await sql`update webhooks set last_error = ${lastError}, enabled = enabled and not ${isGone}
    where id = ${webhookId} and (last_error is distinct from ${lastError} or (enabled and ${isGone}))`.execute(trx)
  if (!isGone) return
  await sql`update webhook_deliveries set status = 'DEAD', next_attempt_at = null, worker_id = null, error = ${lastError}
    where webhook_id = ${webhookId} and status = 'PENDING' and id <> ${deliveryId}`.execute(trx)
}

/** Frees deliveries that this worker claimed and will not send: the one with this id or, without an id, all. */
export async function freeDeliveries(db: Db, workerId: string, id?: string): Promise<void> {
  await sql`update webhook_deliveries set worker_id = null
    where status = 'PENDING' and worker_id = ${workerId} and ${id === undefined ? sql`true` : sql`id = ${id}`}`.execute(
    db,
  )
}

/** Removes deliveries that were kept for long enough, and those that a run added while their webhook was being deleted. */
export async function deleteOldDeliveries(db: Db, before: Date): Promise<void> {
  await sql`delete from webhook_deliveries where status <> 'PENDING' and created_at < ${before}`.execute(db)
  await sql`delete from webhook_deliveries
    where status = 'PENDING' and not exists (select from webhooks where webhooks.id = webhook_id)`.execute(db)
}

function deliveriesOfTenant(db: Db, reach: Reach) {
  return db
    .selectFrom('webhook_deliveries')
    .where(ofTenant('webhook_deliveries', reach))
    .where(sql<boolean>`exists (select from webhooks where webhooks.id = webhook_id)`)
    .selectAll()
}

function toDelivery(row: Row<'webhook_deliveries'>): WebhookDelivery {
  return fromColumns(row, ['seq', 'conversation_id', 'worker_id'])
}

function outcomeColumns(outcome: AttemptOutcome, now: Date) {
  return {
    response_status: outcome.status,
    error: outcome.ok ? null : outcome.error,
    delivered_at: outcome.ok ? now : null,
  }
}
