import { sql } from 'kysely'

import { keysExpireBefore } from './access/idempotency-keys.ts'
import type { Db } from './database/schema.ts'
import { deleteOldDeliveries } from './webhooks/deliveries.ts'

const rowsAtOnce = 100

/**
 * Deletes rows whose time is over: idempotency keys that can be used again, requests to models that were kept for long
 * enough, deliveries of webhooks, and uploads that nothing refers to. Oldest first, a limited number at a time, and without waiting for locks.
 */
export async function deleteExpired(
  db: Db,
  {
    now,
    keepRequestsMs,
    keepDeliveriesMs,
  }: { readonly now: Date; readonly keepRequestsMs: number; readonly keepDeliveriesMs: number },
): Promise<void> {
  await deleteRows(db, 'idempotency_keys', 'created_at', keysExpireBefore(now))
  await deleteRows(db, 'step_exchanges', 'created_at', new Date(now.getTime() - keepRequestsMs))
  await deleteRows(db, 'files', 'expires_at', now)
  await deleteOldDeliveries(db, new Date(now.getTime() - keepDeliveriesMs))
}

async function deleteRows(db: Db, table: string, time: string, upTo: Date): Promise<void> {
  const [rows, at] = [sql.table(table), sql.ref(time)]
  for (;;) {
    const { numAffectedRows } = await sql`
      delete from ${rows} where ctid = any(array(
        select ctid from ${rows} where ${at} <= ${upTo} order by ${at}
        limit ${rowsAtOnce} for update skip locked))`.execute(db)
    if (Number(numAffectedRows) < rowsAtOnce) return
  }
}
