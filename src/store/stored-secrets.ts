import { sql, type Kysely, type RawBuilder } from 'kysely'

import { openHeaders } from '../domain/tools/sealed-headers.ts'
import { sealedMark, type SecretBox } from '../util/secret-box.ts'
import type { Database } from './database/schema.ts'

/**
 * Every stored secret: the headers of HTTP tools and MCP servers, and the secrets that sign tokens and requests of HTTP
 * tools.
 */
const storedSecrets = sql`(
  select header.value from tools, jsonb_each_text(headers) header where kind = 'HTTP'
  union all select header.value from mcp_servers, jsonb_each_text(headers) header
  union all select signing_secret from tenants
  union all select token_secret from tenants)`

/** A stored secret that was encrypted with a key that is not among these. */
export async function findForeignSecret(
  db: Kysely<Database>,
  { knownMarks }: Pick<SecretBox, 'knownMarks'>,
): Promise<string | undefined> {
  const { rows } = await sql<{ value: string }>`
    select value from ${storedSecrets} stored
    where starts_with(value, ${sealedMark})
      and not exists (select from unnest(${[...knownMarks]}::text[]) mark where starts_with(value, mark))
    limit 1`.execute(db)
  return rows[0]?.value
}

/** Encrypts what is stored in plain text or was encrypted with an older key. Returns how many rows it changed. */
export async function resealSecrets(trx: Kysely<Database>, secrets: SecretBox): Promise<number> {
  const { mark } = secrets
  if (mark === undefined) return 0
  const isOld = (value: RawBuilder<unknown>) => sql<boolean>`not starts_with(${value}, ${mark})`
  const hasOld = sql<boolean>`exists (select from jsonb_each_text(headers) h where ${isOld(sql`h.value`)})`
  let resealed = 0
  for (const table of ['tools', 'mcp_servers'] as const) {
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
  const tenants = await sql<{ id: string; signing_secret: string; token_secret: string }>`
    select id, signing_secret, token_secret from tenants
    where ${isOld(sql`signing_secret`)} or ${isOld(sql`token_secret`)} order by id for update`.execute(trx)
  for (const { id, signing_secret: signing, token_secret: token } of tenants.rows) {
    const [sealedSigning, sealedToken] = [signing, token].map((one) => secrets.seal(secrets.open(one, id), id))
    await sql`update tenants set signing_secret = ${sealedSigning}, token_secret = ${sealedToken} where id = ${id}`.execute(
      trx,
    )
  }
  return resealed + tenants.rows.length
}
