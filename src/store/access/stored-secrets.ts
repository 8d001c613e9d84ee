import { sql, type RawBuilder } from 'kysely'

import { openHeaders } from '../../domain/tools/sealed-headers.ts'
import { lackingKey, sealedMark, type SecretBox } from '../../util/secret-box.ts'
import type { Db } from '../database/schema.ts'
import { transact } from '../database/transact.ts'
import type { Log } from '../../util/log.ts'
import { StartError } from '../../util/start-error.ts'

/**
 * Every stored secret: the headers of HTTP tools, MCP servers and webhooks, and the secrets that sign tokens, requests
 * of HTTP tools and deliveries.
 */
const storedSecrets = sql`(
  select header.value from tools, jsonb_each_text(headers) header where kind = 'HTTP'
  union all select header.value from mcp_servers, jsonb_each_text(headers) header
  union all select header.value from webhooks, jsonb_each_text(headers) header
  union all select unnest(array[secret, old_secret]) from webhooks
  union all select signing_secret from tenants
  union all select token_secret from tenants)`

/** Finds a stored secret that was encrypted with a key that the server does not have now. */
async function findForeignSecret(db: Db, { knownMarks }: Pick<SecretBox, 'knownMarks'>): Promise<string | undefined> {
  const { rows } = await sql<{ value: string }>`
    select value from ${storedSecrets} stored
    where starts_with(value, ${sealedMark})
      and not exists (select from unnest(${[...knownMarks]}::text[]) mark where starts_with(value, mark))
    limit 1`.execute(db)
  return rows[0]?.value
}

/** Encrypts what is stored in plain text or was encrypted with an older key. Returns how many rows it changed. */
async function resealSecrets(trx: Db, secrets: SecretBox): Promise<number> {
  const { mark } = secrets
  if (mark === undefined) return 0
  const isOld = (value: RawBuilder<unknown>) => sql<boolean>`not starts_with(${value}, ${mark})`
  const hasOld = sql<boolean>`exists (select from jsonb_each_text(headers) h where ${isOld(sql`h.value`)})`
  let resealed = 0
  for (const table of ['tools', 'mcp_servers', 'webhooks'] as const) {
    const rows = await sql<{ id: string; tenant_id: string; headers: Record<string, string> }>`
      select id, tenant_id, headers from ${sql.table(table)}
      where headers is not null and ${hasOld} order by id for update`.execute(trx)
    for (const { id, tenant_id: owner, headers } of rows.rows) {
      const plain = openHeaders(secrets, headers, owner)
      const sealed = Object.entries(plain).map(([name, value]) => [name, secrets.seal(value, owner)])
      const text = JSON.stringify(Object.fromEntries(sealed))
      await sql`update ${sql.table(table)} set headers = ${text} where id = ${id}`.execute(trx)
    }
    resealed += rows.rows.length
  }
  const webhooks = await sql<{ id: string; owner: string; secret: string; old_secret: string | null }>`
    select id, tenant_id as owner, secret, old_secret from webhooks
    where ${isOld(sql`secret`)} or ${isOld(sql`old_secret`)} order by id for update`.execute(trx)
  for (const { id, owner, secret, old_secret: old } of webhooks.rows) {
    const reseal = (one: string | null) => (one === null ? null : secrets.seal(secrets.open(one, owner), owner))
    await sql`update webhooks set secret = ${reseal(secret)}, old_secret = ${reseal(old)} where id = ${id}`.execute(trx)
  }
  const tenants = await sql<{ id: string; signing_secret: string; token_secret: string }>`
    select id, signing_secret, token_secret from tenants
    where ${isOld(sql`signing_secret`)} or ${isOld(sql`token_secret`)} order by id for update`.execute(trx)
  for (const { id, signing_secret: signing, token_secret: token } of tenants.rows) {
    const [sealedSigning, sealedToken] = [signing, token].map((one) => secrets.seal(secrets.open(one, id), id))
    await sql`update tenants set signing_secret = ${sealedSigning}, token_secret = ${sealedToken} where id = ${id}`.execute(
      trx,
    )
  }
  return resealed + webhooks.rows.length + tenants.rows.length
}

/**
 * Stops the start if stored secrets cannot be decrypted. Then encrypts those that are plain, or encrypted with an older
 * key, with the first key. Every process does this when it starts.
 */
export async function protectSecrets(db: Db, secrets: SecretBox, log: Log): Promise<void> {
  const foreign = await findForeignSecret(db, secrets)
  if (foreign !== undefined) {
    throw new StartError(`${lackingKey(foreign)} Add that key to the list, after the one that is to encrypt.`)
  }
  const resealed = await transact({ db }, (trx) => resealSecrets(trx, secrets))
  if (resealed > 0) log.info({ resealed }, 'stored secrets were encrypted with the first key of HOLDPOINT_SECRET_KEY')
}
