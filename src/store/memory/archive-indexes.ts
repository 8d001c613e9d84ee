import { createHash } from 'node:crypto'

import { sql } from 'kysely'
import pg from 'pg'

import { onAbort } from '../../util/abort.ts'
import { endConnection, keepAlive, socketOf } from '../database/connections.ts'
import type { OpenDatabase } from '../database/open-database.ts'
import type { Db, Trx } from '../database/schema.ts'
import { transact } from '../database/transact.ts'

/** The vectors of one model in one archive. */
interface Archive {
  readonly agentId: string
  readonly model: string
  readonly dimensions: number
}

export type CountedArchive = Archive & { readonly passages: number }

/** The most that an index on half precision can have. */
const mostDimensions = 4_000
const filledAtOnce = 100

/** 'hold' as a number, and which of our locks it is. */
const lock = '1752132708, 3'

/** Null without pgvector. Since 0.8 it goes on in an index where it has found too little. */
const schemaOfPgvector = `(select extnamespace::regnamespace::text from pg_extension
  where extname = 'vector' and string_to_array(extversion, '.')::integer[] >= '{0,8}')`

/**
 * If the database has pgvector, gives each archive of more than `above` passages an HNSW index of its own, and removes
 * indexes that are not needed any more. Otherwise returns the largest of these archives.
 *
 * An index is made empty, which takes a moment. From then on, whoever stores a vector also stores its numbers for the
 * index. The vectors that were there before follow, a few at a time, and then the index gets the name by which searches
 * find it. If the process dies, another one goes on from there.
 */
export async function tendArchiveIndexes(
  { db, url }: Pick<OpenDatabase, 'db' | 'url'>,
  { above, stop }: { readonly above: number; readonly stop: AbortSignal },
): Promise<CountedArchive | undefined> {
  const client = new pg.Client({ connectionString: url, application_name: 'holdpoint archives', ...keepAlive })
  client.on('error', () => {})
  const stopListening = onAbort(stop, () => socketOf(client)?.destroy())
  try {
    await client.connect()
    const { rows } = await client.query<{ alone: boolean; schema: string | null }>(
      `select pg_try_advisory_lock(${lock}) as alone, ${schemaOfPgvector} as schema`,
    )
    const { alone, schema } = rows[0]!
    if (!alone) return undefined
    // Half as large, it keeps the index that it has.
    const archives = await listArchives(client, Math.floor(above / 2))
    const large = archives.filter(({ passages }) => passages > above)
    if (schema === null) return large[0]
    // Parallel workers of Postgres would need shared memory that a container may not have.
    await client.query('set max_parallel_maintenance_workers = 0; set statement_timeout = 0')
    const names = await tidyIndexes(client, archives)
    for (const archive of large) {
      const name = nameOf(archive)
      if (names.has(name)) continue
      if (!names.has(`${name}_new`)) await client.query(creationOf(archive, schema))
      await fillIndex(db, archive, stop)
      if (stop.aborted) break
      await client.query(`alter index ${name}_new rename to ${name}`)
    }
  } catch (error) {
    if (!stop.aborted) throw error
  } finally {
    stopListening()
    await endConnection(client)
  }
  return undefined
}

/** Largest first. */
async function listArchives(client: pg.Client, above: number): Promise<CountedArchive[]> {
  const { rows } = await client.query<CountedArchive>(
    `select agent_id as "agentId", model, length(bits) as dimensions, count(*)::integer as passages from passage_vectors
    where agent_id in (select agent_id from passages group by agent_id having count(*) > $1) and length(bits) <= $2
    group by agent_id, model, dimensions having count(*) > $1 order by passages desc`,
    [above, mostDimensions],
  )
  return rows
}

/** Removes what is of none of these archives, or was not finished. Returns the names of the others. */
async function tidyIndexes(client: pg.Client, archives: readonly Archive[]): Promise<Set<string>> {
  const { rows } = await client.query<{ name: string; valid: boolean }>(
    `select relname as name, indisvalid as valid from pg_index join pg_class on pg_class.oid = indexrelid
    where indrelid = 'passage_vectors'::regclass and relname like 'archive\\_%'`,
  )
  const names = new Set(archives.map(nameOf).flatMap((name) => [name, `${name}_new`]))
  const [kept, others] = [true, false].map((is) => rows.filter(({ name, valid }) => is === (valid && names.has(name))))
  for (const { name } of others!) await client.query(`drop index concurrently if exists ${name}`)
  return new Set(kept!.map(({ name }) => name))
}

function creationOf(archive: Archive, schema: string): string {
  const { agentId, model, dimensions } = archive
  return `create index concurrently ${nameOf(archive)}_new on passage_vectors
    using hnsw (((numbers::real[])::${schema}.halfvec(${dimensions})) ${schema}.halfvec_ip_ops)
    where agent_id = '${agentId}' and model = ${pg.escapeLiteral(model)} and cardinality(numbers) = ${dimensions}`
}

async function fillIndex(db: Db, archive: Archive, stop: AbortSignal): Promise<void> {
  for (let last = '00000000-0000-0000-0000-000000000000'; !stop.aborted;) {
    const { rows } = await sql<{ id: string }>`
      select id from passages where agent_id = ${archive.agentId} and id > ${last} order by id limit ${filledAtOnce}`.execute(
      db,
    )
    const ids = rows.map(({ id }) => id)
    if (ids.length === 0) return
    await transact({ db }, (trx) => storeNumbers(trx, archive, ids))
    last = ids.at(-1)!
  }
}

/** Stores the numbers of those vectors whose archive has an index, unless they are stored. */
export async function storeNumbers(
  trx: Trx,
  { model, dimensions }: Omit<Archive, 'agentId'>,
  ids: readonly string[],
): Promise<void> {
  const name = sql`'archive_' || replace(agent_id::text, '-', '') || ${suffixOf({ model, dimensions })}`
  const { rows } = await sql<{ id: string; vector: Buffer }>`
    select passage_id as id, vector from passage_vectors
    where passage_id = any(${ids}::uuid[]) and model = ${model} and length(bits) = ${dimensions} and numbers is null
      and coalesce(to_regclass(${name} || '_new'), to_regclass(${name})) is not null`.execute(trx)
  if (rows.length === 0) return
  await sql`
    update passage_vectors set numbers = given.numbers::smallint[]
    from unnest(${rows.map(({ id }) => id)}::uuid[],
      ${rows.map(({ vector }) => `{${numbersOf(floatsOf(vector)).join()}}`)}::text[]) as given(id, numbers)
    where passage_id = given.id and model = ${model} and passage_vectors.numbers is null`.execute(trx)
}

/** The condition of the archive's index, and the distance that it orders by. Undefined if there is none yet. */
export async function findArchiveIndex(db: Db, archive: Archive, vector: Float32Array) {
  const { rows } = await sql<{ schema: string | null }>`
    select ${sql.raw(schemaOfPgvector)} as schema from pg_index
    where indexrelid = to_regclass(${nameOf(archive)}) and indisvalid`.execute(db)
  const schema = rows[0]?.schema
  if (!schema) return undefined
  const { agentId, model, dimensions } = archive
  const half = sql.raw(`${schema}.halfvec(${dimensions})`)
  const nearTo = sql.raw(`operator(${schema}.<#>)`)
  return {
    isIndexed: sql`agent_id = ${agentId} and model = ${model} and cardinality(numbers) = ${dimensions}`,
    distance: sql`(numbers::real[])::${half} ${nearTo} ${`[${numbersOf(vector).join()}]`}::${half}`,
  }
}

function nameOf(archive: Archive): string {
  return `archive_${archive.agentId.replaceAll('-', '')}${suffixOf(archive)}`
}

function suffixOf({ model, dimensions }: Omit<Archive, 'agentId'>): string {
  return `_${createHash('sha256').update(model).digest('hex').slice(0, 8)}_${dimensions}`
}

/** Whole numbers, so that small parts are not lost in half precision. */
function numbersOf(vector: Float32Array): Int16Array {
  return Int16Array.from(vector, (value) => Math.round(value * 32_767))
}

export function floatsOf(bytes: Buffer): Float32Array {
  return new Float32Array(Uint8Array.from(bytes).buffer)
}
