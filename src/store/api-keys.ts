import { sql, type Kysely, type Selectable } from 'kysely'

import type { ApiKey } from '../domain/api-key.ts'
import type { Database } from './schema.ts'
import { ofTenant } from './tenant-scope.ts'

export async function findApiKeys(db: Kysely<Database>, tenantId: string, ids: readonly string[]): Promise<ApiKey[]> {
  const rows = await keysOfTenant(db, tenantId)
    .where(sql<boolean>`id = any(${ids}::uuid[])`)
    .execute()
  return rows.map(toApiKey)
}

/** Oldest first, revoked ones included. */
export async function listApiKeys(db: Kysely<Database>, tenantId: string): Promise<ApiKey[]> {
  const rows = await keysOfTenant(db, tenantId).orderBy('id').execute()
  return rows.map(toApiKey)
}

function keysOfTenant(db: Kysely<Database>, tenantId: string) {
  return db
    .selectFrom('api_keys')
    .where(ofTenant('api_keys', tenantId))
    .select(['id', 'tenant_id', 'name', 'scopes', 'created_at', 'last_used_at', 'revoked_at'])
}

function toApiKey(row: Omit<Selectable<Database['api_keys']>, 'hash'>): ApiKey {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    name: row.name,
    scopes: row.scopes,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    revokedAt: row.revoked_at,
  }
}
