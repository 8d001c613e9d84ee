import { sql, type Kysely, type SqlBool, type Transaction } from 'kysely'

import type { Database } from './database/schema.ts'
import { isInConversation } from './access/tenant-scope.ts'

/** A client's idempotency key. Repeating the request has no further effect. */
export interface IdempotencyKey {
  readonly tenantId: string
  readonly operation: Database['idempotency_keys']['operation']
  readonly key: string
}

const keptMs = 24 * 60 * 60 * 1_000

const namesExistingRun = sql<SqlBool>`exists (
  select from runs where runs.id = idempotency_keys.run_id and ${isInConversation('runs.conversation_id')})`

/** A key can be used again after a day, or once its conversation was deleted. */
export async function findIdempotencyKey(
  trx: Transaction<Database>,
  { tenantId, operation, key }: IdempotencyKey,
  now: Date,
): Promise<{ readonly inputHash: Buffer; readonly runId: string } | undefined> {
  const row = await trx
    .selectFrom('idempotency_keys')
    .where('tenant_id', '=', tenantId)
    .where('operation', '=', operation)
    .where('key', '=', key)
    .where('created_at', '>', expiredBefore(now))
    .where(namesExistingRun)
    .select(['input_hash', 'run_id'])
    .executeTakeFirst()
  return row && { inputHash: row.input_hash, runId: row.run_id }
}

/** False if someone else took the key at the same moment: the second one waits until the first has committed. */
export async function insertIdempotencyKey(
  trx: Transaction<Database>,
  { tenantId, operation, key }: IdempotencyKey,
  taken: { readonly inputHash: Buffer; readonly runId: string; readonly now: Date },
): Promise<boolean> {
  const { rows } = await sql`
    insert into idempotency_keys (tenant_id, operation, key, input_hash, run_id, created_at)
    values (${tenantId}, ${operation}, ${key}, ${taken.inputHash}, ${taken.runId}, ${taken.now})
    on conflict (tenant_id, operation, key) do update
      set input_hash = excluded.input_hash, run_id = excluded.run_id, created_at = excluded.created_at
      where idempotency_keys.created_at <= ${expiredBefore(taken.now)} or not ${namesExistingRun}
    returning run_id`.execute(trx)
  return rows.length > 0
}

const deletedAtOnce = 1_000

/** Deletes keys that can be used again, oldest first, a limited number at a time. */
export async function deleteOldIdempotencyKeys(db: Kysely<Database>, now: Date): Promise<void> {
  for (;;) {
    const { numAffectedRows } = await sql`
      delete from idempotency_keys where ctid = any(array(
        select ctid from idempotency_keys where created_at <= ${expiredBefore(now)} order by created_at
        limit ${deletedAtOnce} for update skip locked))`.execute(db)
    if (Number(numAffectedRows) < deletedAtOnce) return
  }
}

function expiredBefore(now: Date): Date {
  return new Date(now.getTime() - keptMs)
}
