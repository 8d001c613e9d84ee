import { createHash } from 'node:crypto'

import { sql, type RawBuilder } from 'kysely'
import pg from 'pg'

import { onAbort } from '../../util/abort.ts'
import { storableText } from '../../util/json.ts'
import { endConnection, keepAlive, socketOf } from '../database/connections.ts'
import type { OpenDatabase } from '../database/open-database.ts'
import type { Db } from '../database/schema.ts'

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

/** Removes indexes of none of these archives, and those whose making was interrupted. Returns the names of the others. */
async function tidyIndexes(client: pg.Client, archives: readonly Archive[]): Promise<Set<string>> {
  const { rows } = await client.query<{ name: string; valid: boolean }>(
    `select relname as name, indisvalid as valid from pg_index join pg_class on pg_class.oid = indexrelid
    where indrelid = 'passage_vectors'::regclass and relname like 'archive\\_%'`,
  )
  const names = new Set(archives.map(nameOf))
  const kept = new Set(rows.flatMap(({ name, valid }) => (valid && names.has(name.replace('_new', '')) ? [name] : [])))
  for (const { name } of rows) if (!kept.has(name)) await client.query(`drop index concurrently if exists ${name}`)
  return kept
}

function creationOf(archive: Archive, schema: string): string {
  const { agentId, model, dimensions } = archive
  return `create index concurrently ${nameOf(archive)}_new on passage_vectors
    using hnsw (((numbers::real[])::${schema}.halfvec(${dimensions})) ${schema}.halfvec_ip_ops)
    where agent_id = '${agentId}' and model = ${pg.escapeLiteral(model)} and cardinality(numbers) = ${dimensions}`
}

async function fillIndex(db: Db, archive: Archive, stop: AbortSignal): Promise<void> {
  const { agentId, model, dimensions } = archive
  let last = '00000000-0000-0000-0000-000000000000'
  while (!stop.aborted) {
    const { rows } = await sql<{ id: string }>`
      with batch as materialized (
        select id from passages where agent_id = ${agentId} and id > ${last} order by id limit ${filledAtOnce}
      ), filled as (
        update passage_vectors set numbers = ${numbersIfIndexed(archive, sql`vector`)} from batch
        where passage_id = batch.id and model = ${model} and length(bits) = ${dimensions} and numbers is null
      )
      select id from batch order by id desc limit 1`.execute(db)
    if (!rows[0]) return
    last = rows[0].id
  }
}

/** In SQL, for a row with `agent_id`: the numbers of its vector if its archive has an index. Otherwise null. */
export function numbersIfIndexed(of: Omit<Archive, 'agentId'>, vector: RawBuilder<unknown>): RawBuilder<unknown> {
  const name = sql`'archive_' || replace(agent_id::text, '-', '') || ${suffixOf(of)}`
  return sql`case when coalesce(to_regclass(${name} || '_new'), to_regclass(${name})) is not null then array(
    select ((get_byte(${vector}, 2 * place + 1) # 128) << 8 | get_byte(${vector}, 2 * place)) - 32768
    from generate_series(0, ${of.dimensions}::integer - 1) place)::smallint[] end`
}

/** The nearest passages that have all of the tags, by the archive's index: none without one, fewer if it finds too few. */
export async function searchArchiveIndex(
  db: Db,
  archive: Archive,
  { numbers, tags, limit }: { readonly numbers: Int16Array; readonly tags: readonly string[]; readonly limit: number },
): Promise<string[]> {
  const { agentId, model, dimensions } = archive
  const { rows } = await sql<{ schema: string | null }>`
    select ${sql.raw(schemaOfPgvector)} as schema from pg_index
    where indexrelid = to_regclass(${nameOf(archive)}) and indisvalid`.execute(db)
  const schema = rows[0]?.schema
  if (!schema) return []
  const half = sql.raw(`${schema}.halfvec(${dimensions})`)
  // Not a join, because Postgres would read all passages with these tags first.
  const isTagged =
    tags.length === 0
      ? sql``
      : sql`and (select passages.tags @> ${tags.map(storableText)}::text[] from passages where id = passage_id)`
  return db.transaction().execute(async (trx) => {
    await sql`
      select set_config('hnsw.ef_search', ${String(2 * limit)}, true), set_config('hnsw.iterative_scan', 'relaxed_order', true),
        set_config('hnsw.max_scan_tuples', ${String(20 * limit)}, true)`.execute(trx)
    const found = await sql<{ id: string }>`
      with near as materialized (
        select passage_id as id,
          (numbers::real[])::${half} operator(${sql.raw(schema)}.<#>) ${`[${numbers.join()}]`}::${half} as distance
        from passage_vectors
        where agent_id = ${agentId} and model = ${model} and cardinality(numbers) = ${dimensions} ${isTagged}
        order by distance limit ${limit})
      select id from near order by distance`.execute(trx)
    return found.rows.map(({ id }) => id)
  })
}

function nameOf(archive: Archive): string {
  return `archive_${archive.agentId.replaceAll('-', '')}${suffixOf(archive)}`
}

function suffixOf({ model, dimensions }: Omit<Archive, 'agentId'>): string {
  return `_${createHash('sha256').update(model).digest('hex').slice(0, 8)}_${dimensions}`
}
