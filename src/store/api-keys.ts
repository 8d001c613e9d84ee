import { sql, type Kysely, type Selectable } from 'kysely'

import type { ApiKey } from '../domain/access/api-key.ts'
import type { Reach } from '../domain/access/viewer.ts'
import { plainListLimit } from './database/page.ts'
import type { Database } from './database/schema.ts'
import { ofTenant } from './access/tenant-scope.ts'

const columns = [
  'id',
  'tenant_id',
  'name',
  'scopes',
  'created_by',
  'created_at',
  'last_used_at',
  'expires_at',
  'revoked_at',
] as const

export async function findApiKeys(db: Kysely<Database>, reach: Reach, ids: readonly string[]): Promise<ApiKey[]> {
  const rows = await keysOfTenant(db, reach)
    .where(sql<boolean>`id = any(${ids}::uuid[])`)
    .execute()
  return rows.map(toApiKey)
}

/** Oldest first, including revoked keys. */
export async function listApiKeys(db: Kysely<Database>, reach: Reach): Promise<ApiKey[]> {
  const rows = await keysOfTenant(db, reach).orderBy('id').execute()
  return rows.map(toApiKey)
}

/** Like `listApiKeys`, cut to the size of one answer: revoked keys are left out first, then the oldest. */
export async function listSomeApiKeys(db: Kysely<Database>, reach: Reach): Promise<ApiKey[]> {
  const rows = await keysOfTenant(db, reach)
    .orderBy(sql`revoked_at is not null`)
    .orderBy('id', 'desc')
    .limit(plainListLimit)
    .execute()
  return rows.map(toApiKey).toSorted((one, other) => (one.id < other.id ? -1 : 1))
}

export async function insertApiKey(db: Kysely<Database>, key: ApiKey, hash: Buffer): Promise<void> {
  await db
    .insertInto('api_keys')
    .values({
      id: key.id,
      tenant_id: key.tenantId,
      name: key.name,
      hash,
      scopes: [...key.scopes],
      created_by: key.createdBy === null ? null : JSON.stringify(key.createdBy),
      created_at: key.createdAt,
      expires_at: key.expiresAt,
    })
    .execute()
}

/** A key that is already revoked keeps its time. Undefined if the tenant has no such key. */
export async function setApiKeyRevoked(
  db: Kysely<Database>,
  reach: Reach,
  id: string,
  at: Date,
): Promise<ApiKey | undefined> {
  const row = await db
    .updateTable('api_keys')
    .set((eb) => ({ revoked_at: eb.fn.coalesce('revoked_at', eb.val(at)) }))
    .where(ofTenant('api_keys', reach))
    .where('id', '=', id)
    .returning(columns)
    .executeTakeFirst()
  return row && toApiKey(row)
}

/** The key with this hash, unless it was revoked or has expired. Notes that it was used, at most once a minute. */
export async function useApiKey(db: Kysely<Database>, hash: Buffer): Promise<ApiKey | undefined> {
  const row = await db
    .selectFrom('api_keys')
    .select([...columns, sql<boolean>`coalesce(last_used_at < now() - interval '1 minute', true)`.as('is_stale')])
    .where('hash', '=', hash)
    .where('revoked_at', 'is', null)
    .where(sql<boolean>`(expires_at is null or expires_at > now())`)
    .executeTakeFirst()
  if (!row) return undefined
  if (row.is_stale) {
    await db
      .updateTable('api_keys')
      .set({ last_used_at: sql<Date>`now()` })
      .where('id', '=', row.id)
      .execute()
  }
  return toApiKey(row)
}

/** Whether anybody has created a key in any tenant. Revoked keys count. */
export async function hasApiKeys(db: Kysely<Database>): Promise<boolean> {
  const row = await db.selectFrom('api_keys').select('id').limit(1).executeTakeFirst()
  return row !== undefined
}

function keysOfTenant(db: Kysely<Database>, reach: Reach) {
  return db.selectFrom('api_keys').where(ofTenant('api_keys', reach)).select(columns)
}

function toApiKey(row: Omit<Selectable<Database['api_keys']>, 'hash'>): ApiKey {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    name: row.name,
    scopes: row.scopes,
    createdBy: row.created_by,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
  }
}
