import { afterAll, beforeAll, expect, test } from 'vitest'

import { uuidOf } from '../../../src/domain/ids.ts'
import type { Db } from '../../../src/store/database/schema.ts'
import { listPassagesPage } from '../../../src/store/memory/passages.ts'
import { searchPassages } from '../../../src/store/memory/search-passages.ts'
import { createGround, type Ground } from '../../support/execute.ts'
import { explain, type Statement } from '../../support/explain.ts'
import { hookDatabase } from '../../support/gated-database.ts'
import { addManyPassages, createVectors, nearest } from '../../support/many-passages.ts'

const model = 'demo/embedding'
const size = 3_000
let ground: Ground
let archive: { tenantId: string; agentId: string; model: string }
let vectors: ReadonlyMap<string, Float32Array>
const next = createVectors(384)

async function createArchive(count: number) {
  const { createAgent } = await ground.run(
    'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }',
    { input: { name: 'a', model: 'demo/scripted' } },
  )
  const agentId = uuidOf('Agent', createAgent.agent.id)!
  const made = { tenantId: ground.viewer.tenantId, agentId, model }
  return { archive: made, vectors: await addManyPassages(ground.db, made, count, next) }
}

beforeAll(async () => {
  ground = await createGround()
  for (let others = 0; others < 9; others += 1) await createArchive(size)
  ;({ archive, vectors } = await createArchive(size))
  await ground.pool.query('vacuum analyze passages')
  await ground.pool.query('vacuum analyze passage_vectors')
}, 120_000)
afterAll(() => ground.close())

const search = (db: Db, given: object) =>
  searchPassages(db, archive, {
    agentId: archive.agentId,
    query: 'zebra',
    tags: [],
    limit: 10,
    embed: async () => next(),
    ...given,
  })

test('[PAS13] the search by bits finds at least nine of ten of the nearest by vectors', async () => {
  let found = 0
  for (let asked = 0; asked < 20; asked += 1) {
    const vector = next()
    const exact = new Set(nearest(vectors, vector, 10))
    const matches = await search(ground.db, { embed: async () => vector })
    found += matches.filter(({ passage }) => exact.has(passage.id)).length
  }
  expect(found).toBeGreaterThanOrEqual(180)
})

test('[PAS13] a search or a list reads only the archive that it is of, and of words only some matches', async () => {
  const statements: Statement[] = []
  const db = hookDatabase(ground.pool, {
    before: (text, parameters) => void statements.push({ sql: text, parameters }),
  })
  const reach = { tenantId: archive.tenantId }
  const { agentId } = archive
  const works: (() => Promise<unknown>)[] = [
    () => search(db, { query: 'the entry of subject12' }),
    () => search(db, { query: 'entry', tags: ['tag7'] }),
    () => listPassagesPage(db, reach, { agentId, tags: [] }, {}),
    () => listPassagesPage(db, reach, { agentId, tags: ['tag7'] }, {}),
  ]
  for (const work of works) await work()
  expect(statements.length).toBeGreaterThan(8)
  for (const statement of statements) {
    const { plan, scanned, visited } = await explain(ground.pool, statement)
    const told = `${statement.sql}\n${plan}`
    expect(
      scanned.filter((table) => table.startsWith('passage')),
      told,
    ).toEqual([])
    // The bits of an archive are compared one by one. Of a word, the index of one archive is read, and few passages.
    expect(visited, told).toBeLessThanOrEqual((statement.sql.includes('asked') ? 4 : 1) * size + 1_000)
  }
})
