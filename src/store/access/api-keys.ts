import { sql } from 'kysely'

import type { ApiKey } from '../../domain/access/api-key.ts'
import type { Reach } from '../../domain/access/viewer.ts'
import { fromColumns, toColumns } from '../database/columns.ts'
import { plainListLimit } from '../database/page.ts'
import type { Db, Row } from '../database/schema.ts'
import { finderOf } from './tenant-rows.ts'
import { ofTenant } from './tenant-scope.ts'

export const findApiKeys = finderOf('api_keys', toApiKey)

/** Oldest first, including revoked keys. */
export async function listApiKeys(db: Db, reach: Reach): Promise<ApiKey[]> {
  const rows = await keysOfTenant(db, reach).orderBy('id').execute()
  return rows.map(toApiKey)
}

/** Like `listApiKeys`, cut to the size of one answer: revoked keys are left out first, then the oldest. */
export async function listSomeApiKeys(db: Db, reach: Reach): Promise<ApiKey[]> {
  const rows = await keysOfTenant(db, reach)
    .orderBy(sql`revoked_at is not null`)
    .orderBy('id', 'desc')
    .limit(plainListLimit)
    .execute()
  return rows.map(toApiKey).toSorted((one, other) => (one.id < other.id ? -1 : 1))
}

export async function insertApiKey(db: Db, key: ApiKey, hash: Buffer): Promise<void> {
  const columns = toColumns(key, ['id', 'tenantId', 'name', 'scopes', 'createdAt', 'expiresAt'], ['createdBy'])
  await db
    .insertInto('api_keys')
    .values({ ...columns, hash })
    .execute()
}

/** A key that is already revoked keeps its time. Undefined if the tenant has no such key. */
export async function setApiKeyRevoked(db: Db, reach: Reach, id: string, at: Date): Promise<ApiKey | undefined> {
  const row = await db
    .updateTable('api_keys')
    .set((eb) => ({ revoked_at: eb.fn.coalesce('revoked_at', eb.val(at)) }))
    .where(ofTenant('api_keys', reach))
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
  return row && toApiKey(row)
}

/** The key with this hash, unless it was revoked or has expired. Notes that it was used, at most once a minute. */
export async function useApiKey(db: Db, hash: Buffer): Promise<ApiKey | undefined> {
  const row = await db
    .selectFrom('api_keys')
    .selectAll()
    .select(sql<boolean>`coalesce(last_used_at < now() - interval '1 minute', true)`.as('is_stale'))
    .where('hash', '=', hash)
    .where('revoked_at', 'is', null)
    .where(sql<boolean>`(expires_at is null or expires_at > now())`)
    .executeTakeFirst()
  if (!row) return undefined
  const { is_stale: isStale, ...key } = row
  if (isStale) {
    await db
      .updateTable('api_keys')
      .set({ last_used_at: sql<Date>`now()` })
      .where('id', '=', row.id)
      .execute()
  }
  return toApiKey(key)
}

/** Whether anybody has created a key in any tenant. Revoked keys count. */
export async function hasApiKeys(db: Db): Promise<boolean> {
  const row = await db.selectFrom('api_keys').select('id').limit(1).executeTakeFirst()
  return row !== undefined
}

function keysOfTenant(db: Db, reach: Reach) {
  return db.selectFrom('api_keys').where(ofTenant('api_keys', reach)).selectAll()
}

function toApiKey(row: Row<'api_keys'>): ApiKey {
  return fromColumns(row, ['hash'])
}
