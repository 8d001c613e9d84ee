import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { uuidOf } from '../../../src/domain/ids.ts'
import type { Db } from '../../../src/store/database/schema.ts'
import { tendArchiveIndexes } from '../../../src/store/memory/archive-indexes.ts'
import { storeVectors } from '../../../src/store/memory/passage-embeddings.ts'
import { deletePassages, listPassagesPage } from '../../../src/store/memory/passages.ts'
import { searchPassages } from '../../../src/store/memory/search-passages.ts'
import { createTestDatabase } from '../../support/database.ts'
import { createGround, type Ground } from '../../support/execute.ts'
import { explain, type Statement } from '../../support/explain.ts'
import { hookDatabase } from '../../support/gated-database.ts'
import { addManyPassages, createVectors, nearest } from '../../support/many-passages.ts'
import { createPgvectorDatabase, havePgvector } from '../../support/postgres-servers.ts'

const model = 'demo/embedding'
const size = 3_000

/** Both ways to search by meaning, which nobody can tell apart by what they find. */
const ways = [
  { way: 'by bits', isHere: true, open: createTestDatabase, indexed: undefined },
  // Only the largest archive, because it takes a while.
  { way: 'by an index of pgvector', isHere: havePgvector, open: createPgvectorDatabase, indexed: size - 1 },
]

describe.each(ways)('a search $way', ({ isHere, open, indexed }) => {
  describe.skipIf(!isHere)('of a large archive', () => {
    let ground: Ground
    let archive: { tenantId: string; agentId: string; model: string }
    let vectors: Map<string, Float32Array>
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

    const tend = async () => {
      if (indexed !== undefined)
        await tendArchiveIndexes(ground, { above: indexed, stop: new AbortController().signal })
      await ground.pool.query('vacuum analyze passages')
      await ground.pool.query('vacuum analyze passage_vectors')
    }

    beforeAll(async () => {
      ground = await createGround(open)
      for (let others = 0; others < 9; others += 1) await createArchive(size - 1)
      ;({ archive, vectors } = await createArchive(size))
      await tend()
    }, 240_000)
    afterAll(() => ground.close())

    const search = (db: Db, given: object) =>
      searchPassages(db, archive, {
        ...{ agentId: archive.agentId, query: 'zebra', tags: [], limit: 10, embed: async () => next() },
        ...given,
      })

    /** The statements of some work, with whatever they got. */
    async function statementsOf(works: readonly ((db: Db) => Promise<unknown>)[]): Promise<Statement[]> {
      const statements: Statement[] = []
      const db = hookDatabase(ground.pool, {
        before: (text, parameters) => void (text.includes('passage') && statements.push({ sql: text, parameters })),
      })
      for (const work of works) await work(db)
      return statements
    }

    /** How many of the ten nearest passages are found, of all of 20 searches. */
    async function recall(among: ReadonlyMap<string, Float32Array>, given: object = {}): Promise<number> {
      let found = 0
      for (let asked = 0; asked < 20; asked += 1) {
        const vector = next()
        const exact = new Set(nearest(among, vector, 10))
        const matches = await search(ground.db, { embed: async () => vector, ...given })
        found += matches.filter(({ passage }) => exact.has(passage.id)).length
      }
      return found / 200
    }

    test('[PAS13] finds at least nine of ten of the nearest by vectors', async () => {
      expect(await recall(vectors)).toBeGreaterThanOrEqual(0.9)
      const { rows } = await ground.pool.query('select id, tags from passages where agent_id = $1', [archive.agentId])
      for (const tag of ['part1', 'tag7']) {
        const tagged = rows.filter(({ tags }) => tags.includes(tag)).map(({ id }) => [id, vectors.get(id)!] as const)
        expect(await recall(new Map(tagged), { tags: [tag] }), tag).toBeGreaterThanOrEqual(0.9)
      }
    })

    test('[PAS13] reads only the archive that it is of, like a list, and of words only some matches', async () => {
      const reach = { tenantId: archive.tenantId }
      const { agentId } = archive
      const statements = await statementsOf([
        (db) => search(db, { query: 'the entry of subject12' }),
        (db) => search(db, { query: 'entry', tags: ['tag7'] }),
        (db) => search(db, { query: 'entry', tags: ['part1'] }),
        (db) => listPassagesPage(db, reach, { agentId, tags: [] }, {}),
        (db) => listPassagesPage(db, reach, { agentId, tags: ['tag7'] }, {}),
      ])
      expect(statements.length).toBeGreaterThan(8)
      const explained = []
      for (const statement of statements) {
        const { plan, scanned, visited } = await explain(ground.pool, statement)
        const told = `${statement.sql}\n${plan}`
        explained.push(told)
        expect(
          scanned.filter((table) => table.startsWith('passage')),
          told,
        ).toEqual([])
        // The bits of an archive are compared one by one, and the passages with a tag. Of a word, the index of one archive
        // is read, and few passages.
        const times = statement.sql.includes('asked') ? 4 : statement.sql.includes('offset 0') ? 2 : 1
        expect(visited, told).toBeLessThanOrEqual(times * size + 1_000)
      }
      // With few tagged passages, both.
      expect(explained.filter((told) => told.includes('Index Scan archive_'))).toHaveLength(
        indexed === undefined ? 0 : 3,
      )
      expect(explained.filter((told) => told.includes('bit_count'))).toHaveLength(indexed === undefined ? 3 : 1)
    })

    test('[PAS14] finds what was stored since, and not what was deleted', async () => {
      const [[id, vector]] = (await addManyPassages(ground.db, archive, 1, next)).entries().toArray() as [
        [string, Float32Array],
      ]
      const best = async () => (await search(ground.db, { embed: async () => vector }))[0]!.passage.id
      expect(await best()).toBe(id)
      await ground.db.transaction().execute((trx) => deletePassages(trx, [id]))
      expect(await best()).not.toBe(id)
    })

    test('[PAS14] goes on with the old vectors while the archive is embedded again, and then with the new ones', async () => {
      const changed = new Map([...vectors].slice(0, 500).map(([passageId]) => [passageId, next()] as const))
      const kept = new Map([...vectors].filter(([id]) => !changed.has(id)))
      const embedAgain = async (some: ReadonlyMap<string, Float32Array>) =>
        storeVectors(
          ground.db,
          'demo/other',
          [...some].map(([passageId, vector]) => ({ passageId, vector })),
        )
      const ofModel = (asked: string) => (given: string, _query: string) => given === asked
      const searching = (asked: string, vector: Float32Array) =>
        search(ground.db, { embed: async (given: string) => (ofModel(asked)(given, '') ? vector : undefined) })
      await embedAgain(changed)
      for (const [asked, among] of [
        [model, kept],
        ['demo/other', changed],
      ] as const) {
        const vector = next()
        const found = (await searching(asked, vector)).map(({ passage }) => passage.id)
        expect(found.filter((id) => among.has(id))).toEqual(found)
        expect(found.filter((id) => nearest(among, vector, 10).includes(id)).length).toBeGreaterThanOrEqual(9)
      }
      await embedAgain(kept)
      await tend()
      vectors = new Map([...changed, ...kept])
      expect(await recall(vectors)).toBeGreaterThanOrEqual(0.9)
    })
  })
})
