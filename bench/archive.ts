import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'

import { startThrowawayServer } from '../scripts/throwaway-server.ts'
import type { Database } from '../src/store/database/schema.ts'
import { searchPassages } from '../src/store/memory/search-passages.ts'
import { addManyPassages, createVectors, nearest } from '../test/support/many-passages.ts'
import { ask } from './ask.ts'

const dimensions = 1_536
const sizes = [1_000, 10_000, 50_000]
const searches = 100

/**
 * Searches of archives of several sizes, with vectors as large as those of usual models: how long they take, and how many
 * of the ten nearest they find. Next to exact order by distance in plain SQL, which reads every vector.
 */
export async function benchArchive(): Promise<void> {
  const server = await startThrowawayServer()
  const pool = new pg.Pool({ connectionString: server.databaseUrl, max: 4 })
  const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) })
  try {
    for (const size of sizes) {
      console.error(`archive: ${size} passages …`)
      console.log(
        JSON.stringify({ bench: 'archive', passages: size, dimensions, ...(await measure(db, server.url, size)) }),
      )
    }
  } finally {
    await db.destroy()
    await server.stop()
  }
}

async function measure(db: Kysely<Database>, url: string, size: number) {
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
  const bruteForce: number[] = []
  for (let asked = 0; asked < (size > 10_000 ? 1 : 3); asked += 1)
    bruteForce.push((await timed(() => exactOrder(db, agentId, next()))).ms)
  const text = 'A text of usual length, such as what a person tells about themselves in a sentence or two.'
  const add = `mutation ($id: ID!) { addPassages(input: { agentId: $id, passages: [{ text: "${text}" }] }) { passages { id } } }`
  const inserts: number[] = []
  for (let added = 0; added < 50; added += 1)
    inserts.push((await timed(() => ask(url, add, { id: createAgent.agent.id }))).ms)
  return {
    p50Ms: quantile(both, 0.5),
    p99Ms: quantile(both, 0.99),
    recallAt10: found / (10 * searches),
    bruteForceMs: quantile(bruteForce, 0.5),
    storeVectorMs: Math.round(insertMs * 1_000) / 1_000,
    addPassageMs: quantile(inserts, 0.5),
  }
}

/** What a search costs that orders all passages by their exact distance. */
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
