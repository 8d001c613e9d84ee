import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'

import { startThrowawayServer, type ThrowawayServer } from '../scripts/throwaway-server.ts'
import type { Database } from '../src/store/database/schema.ts'
import { tendArchiveIndexes } from '../src/store/memory/archive-indexes.ts'
import { searchPassages } from '../src/store/memory/search-passages.ts'
import { addManyPassages, createVectors, nearest } from '../test/support/many-passages.ts'
import { havePgvector, startPostgres } from '../test/support/postgres-servers.ts'
import { ask } from './ask.ts'

const dimensions = 1_536
const sizes = [1_000, 10_000, 50_000]
const searches = 100

/**
 * Searches of archives of several sizes, with vectors as large as those of usual models: how long they take, and how many
 * of the ten nearest they find. Next to exact order by distance, which reads every vector: in plain SQL, and with pgvector,
 * as Letta does. What needs pgvector runs if a Postgres with it is installed.
 */
export async function benchArchive(): Promise<void> {
  await benchSizes('bits')
  if (!havePgvector) return console.error('archive: there is no Postgres with pgvector here')
  const folder = await mkdtemp(join(tmpdir(), 'holdpoint-'))
  await chmod(folder, 0o755)
  const postgres = await startPostgres({ fsync: 'on' }, folder)
  try {
    await postgres.execute('create extension vector')
    await benchSizes('pgvector', postgres.url)
  } finally {
    await postgres.kill()
    await rm(folder, { recursive: true })
  }
}

async function benchSizes(by: 'bits' | 'pgvector', postgresUrl?: string): Promise<void> {
  const server = await startThrowawayServer({ postgresUrl })
  const pool = new pg.Pool({ connectionString: server.databaseUrl, max: 4 })
  const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) })
  try {
    for (const size of sizes) {
      console.error(`archive by ${by}: ${size} passages …`)
      const measured = await measure(db, server, size, by)
      console.log(JSON.stringify({ bench: 'archive', by, passages: size, dimensions, ...measured }))
    }
  } finally {
    await db.destroy()
    await server.stop()
  }
}

async function measure(
  db: Kysely<Database>,
  { url, databaseUrl }: ThrowawayServer,
  size: number,
  by: 'bits' | 'pgvector',
) {
  const { createAgent } = await ask(
    url,
    'mutation { createAgent(input: { name: "a", model: "demo/scripted" }) { agent { id } } }',
  )
  const { id: agentId, tenant_id: tenantId } = await db
    .selectFrom('agents')
    .select(['id', 'tenant_id'])
    .orderBy('id', 'desc')
    .executeTakeFirstOrThrow()
  const archive = { tenantId, agentId, model: 'demo/embedding' }
  const next = createVectors(dimensions)
  const startedAt = performance.now()
  const vectors = await addManyPassages(db, archive, size, next)
  const insertMs = (performance.now() - startedAt) / size
  const indexing = await timed(async () => {
    const tending = { above: size - 1, stop: new AbortController().signal }
    if (by === 'pgvector') await tendArchiveIndexes({ db, url: databaseUrl }, tending)
  })
  await sql`vacuum analyze passages, passage_vectors`.execute(db)

  const search = (query: string, vector: Float32Array) =>
    searchPassages(db, archive, { agentId, query, tags: [], limit: 10, embed: async () => vector })
  const both: number[] = []
  let found = 0
  for (let asked = 0; asked < searches; asked += 1) {
    const vector = next()
    const { ms } = await timed(() => search(`the archive of subject${asked}`, vector))
    both.push(ms)
    const matches = await search('zebra', vector)
    const exact = new Set(nearest(vectors, vector, 10))
    found += matches.filter(({ passage }) => exact.has(passage.id)).length
  }
  const order = by === 'bits' ? exactOrder : exactOrderOfPgvector
  await order(db, agentId, next())
  const exact: number[] = []
  for (let asked = 0; asked < (size > 10_000 ? 1 : 3); asked += 1)
    exact.push((await timed(() => order(db, agentId, next()))).ms)
  const text = 'A text of usual length, such as what a person tells about themselves in a sentence or two.'
  const add = `mutation ($id: ID!) { addPassages(input: { agentId: $id, passages: [{ text: "${text}" }] }) { passages { id } } }`
  const inserts: number[] = []
  for (let added = 0; added < 50; added += 1)
    inserts.push((await timed(() => ask(url, add, { id: createAgent.agent.id }))).ms)
  return {
    p50Ms: quantile(both, 0.5),
    p99Ms: quantile(both, 0.99),
    recallAt10: found / (10 * searches),
    exactOrderMs: quantile(exact, 0.5),
    ...(by === 'pgvector' && { indexingMs: Math.round(indexing.ms) }),
    storeVectorMs: Math.round(insertMs * 1_000) / 1_000,
    addPassageMs: quantile(inserts, 0.5),
  }
}

/** What a search costs that orders all passages by their exact distance, as Letta does. */
async function exactOrderOfPgvector(db: Kysely<Database>, agentId: string, vector: Float32Array): Promise<void> {
  await sql`create table if not exists pgvectors (passage_id uuid, agent_id uuid, embedding vector)`.execute(db)
  await sql`
    insert into pgvectors select passage_id, agent_id, numbers::real[]::vector from passage_vectors
    where agent_id = ${agentId} and not exists (select from pgvectors where agent_id = ${agentId})`.execute(db)
  await sql`
    select passage_id from pgvectors where agent_id = ${agentId}
    order by embedding <=> ${`[${vector.join()}]`}::vector limit 10`.execute(db)
}

/** The same in plain SQL. */
async function exactOrder(db: Kysely<Database>, agentId: string, vector: Float32Array): Promise<void> {
  await sql`create table if not exists exact_vectors as
    select passage_id, agent_id, array(select 0::real from generate_series(1, 0)) as vector from passage_vectors limit 0`.execute(
    db,
  )
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from exact_vectors where agent_id = ${agentId}`.execute(db)
  if (rows[0]!.count === 0)
    await sql`
      insert into exact_vectors select passage_id, agent_id,
        array(select ('0.' || place)::real from generate_series(1, ${dimensions}::integer) place)
      from passage_vectors where agent_id = ${agentId}`.execute(db)
  await sql`
    select passage_id from exact_vectors where agent_id = ${agentId}
    order by (select sum(one * other) from unnest(vector, ${[...vector]}::real[]) as pair(one, other)) desc limit 10`.execute(
    db,
  )
}

async function timed<Result>(work: () => Promise<Result>): Promise<{ result: Result; ms: number }> {
  const startedAt = performance.now()
  const result = await work()
  return { result, ms: performance.now() - startedAt }
}

function quantile(values: readonly number[], at: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * at))]! * 10) / 10
}
