import type { Clock } from '../../util/clock.ts'
import type { IdSource } from '../../util/ids.ts'
import type { SecretBox } from '../../util/secret-box.ts'
import type { Db } from '../database/schema.ts'

const defaultTenantName = 'default'

/** Returns the id of the default tenant and creates it if needed. Several processes may do this at once. */
export function ensureDefaultTenant(db: Db, options: { clock: Clock; ids: IdSource }): Promise<string> {
  return ensureTenant(db, defaultTenantName, options)
}

/** The secret that signs the requests of the tenant's HTTP tools. */
export async function getSigningSecret(db: Db, secrets: SecretBox, tenantId: string): Promise<string> {
  const tenant = await db
    .selectFrom('tenants')
    .select('signing_secret')
    .where('id', '=', tenantId)
    .executeTakeFirstOrThrow()
  return secrets.open(tenant.signing_secret, tenantId)
}

/** Finds a tenant by name. Undefined if there is none. */
export async function findTenantSecret(
  db: Db,
  secrets: SecretBox,
  name: string = defaultTenantName,
): Promise<string | undefined> {
  const tenant = await db
    .selectFrom('tenants')
    .select(['id', 'signing_secret'])
    .where('name', '=', name)
    .executeTakeFirst()
  return tenant && secrets.open(tenant.signing_secret, tenant.id)
}

/**
 * The secret that signs the tenant's access tokens. Undefined if the API key that created the token is unknown or
 * revoked.
 */
export async function findTokenSecret(
  db: Db,
  secrets: SecretBox,
  { tenantId, apiKeyId }: { readonly tenantId: string; readonly apiKeyId: string | null },
): Promise<string | undefined> {
  let query = db.selectFrom('tenants').select('token_secret').where('id', '=', tenantId)
  if (apiKeyId !== null) {
    query = query.where(({ exists, selectFrom }) =>
      exists(
        selectFrom('api_keys')
          .where('api_keys.id', '=', apiKeyId)
          .where('api_keys.tenant_id', '=', tenantId)
          .where('api_keys.revoked_at', 'is', null),
      ),
    )
  }
  const tenant = await query.executeTakeFirst()
  return tenant && secrets.open(tenant.token_secret, tenantId)
}

export async function findTenantId(db: Db, name: string): Promise<string | undefined> {
  const tenant = await db.selectFrom('tenants').select('id').where('name', '=', name).executeTakeFirst()
  return tenant?.id
}

export function listTenants(db: Db): Promise<{ id: string; name: string }[]> {
  return db.selectFrom('tenants').select(['id', 'name']).orderBy('id').execute()
}

export async function listTenantIds(db: Db): Promise<string[]> {
  const tenants = await db.selectFrom('tenants').select('id').orderBy('id').execute()
  return tenants.map(({ id }) => id)
}

export async function ensureTenant(
  db: Db,
  name: string,
  { clock, ids }: { clock: Clock; ids: IdSource },
): Promise<string> {
  await db
    .insertInto('tenants')
    .values({ id: ids.next(), name, created_at: clock.now() })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
  // A separate statement, so that it sees a row that another process has inserted meanwhile.
  const tenant = await db.selectFrom('tenants').select('id').where('name', '=', name).executeTakeFirstOrThrow()
  return tenant.id
}
