import { sql } from 'kysely'

import type { Actor } from '../../domain/access/actor.ts'
import { repeatTransaction } from '../database/transact.ts'
import type { Db, Trx } from '../database/schema.ts'

/** A client's idempotency key. Keys of different actors and of different mutations are different keys. */
export interface IdempotencyKey {
  readonly tenantId: string
  readonly actor: Actor
  readonly mutation: string
  readonly key: string
}

const keptMs = 24 * 60 * 60 * 1_000

/** A key can be used again after a day. `inputHash` is null if it is unknown: see migration 0013. */
export async function findIdempotencyKey(
  db: Db,
  { tenantId, actor, mutation, key }: IdempotencyKey,
  now: Date,
): Promise<{ readonly inputHash: string | null; readonly objectIds: readonly string[] } | undefined> {
  const row = await db
    .selectFrom('idempotency_keys')
    .where('tenant_id', '=', tenantId)
    .where('actor_kind', '=', actor.kind)
    .where('actor_id', '=', actor.id)
    .where('mutation', '=', mutation)
    .where('key', '=', key)
    .where('created_at', '>', keysExpireBefore(now))
    .select(['input_hash', 'object_id', 'object_ids'])
    .executeTakeFirst()
  return row && { inputHash: row.input_hash, objectIds: row.object_ids ?? [row.object_id] }
}

/**
 * If another request takes the key at the same moment, this one waits until that one has committed, and is then
 * repeated, so that it finds the key.
 */
export async function insertIdempotencyKey(
  trx: Trx,
  { tenantId, actor, mutation, key }: IdempotencyKey,
  taken: { readonly inputHash: string; readonly objectIds: readonly string[]; readonly now: Date },
): Promise<void> {
  const [objectId, ...more] = taken.objectIds
  const objectIds = more.length === 0 ? null : taken.objectIds
  const { rows } = await sql`
    insert into idempotency_keys
      (tenant_id, actor_kind, actor_id, mutation, key, input_hash, object_id, object_ids, created_at)
    values (${tenantId}, ${actor.kind}, ${actor.id}, ${mutation}, ${key}, ${taken.inputHash}, ${objectId},
      ${objectIds}, ${taken.now})
    on conflict (tenant_id, actor_kind, actor_id, mutation, key) do update
      set input_hash = excluded.input_hash, object_id = excluded.object_id, object_ids = excluded.object_ids,
        created_at = excluded.created_at
      where idempotency_keys.created_at <= ${keysExpireBefore(taken.now)}
    returning object_id`.execute(trx)
  if (rows.length === 0) throw repeatTransaction(`the idempotency key "${key}" has just been taken`)
}

/** Keys from before this time can be used again. */
export function keysExpireBefore(now: Date): Date {
  return new Date(now.getTime() - keptMs)
}
