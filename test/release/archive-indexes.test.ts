import { expect, onTestFinished, test, describe } from 'vitest'

import { uuidOf } from '../../src/domain/ids.ts'
import { openDatabase } from '../../src/store/database/open-database.ts'
import { tendArchiveIndexes } from '../../src/store/memory/archive-indexes.ts'
import { searchPassages } from '../../src/store/memory/search-passages.ts'
import { createArchiveIndexer } from '../../src/worker/index-archives.ts'
import { captureLog } from '../support/captured-log.ts'
import { createGround, type Ground } from '../support/execute.ts'
import { hookDatabase } from '../support/gated-database.ts'
import { addManyPassages, createVectors } from '../support/many-passages.ts'
import { createPgvectorDatabase, havePgvector } from '../support/postgres-servers.ts'

const model = 'demo/embedding'
const size = 400
const never = new AbortController().signal
const missing = 'an archive is large: its searches get faster with pgvector 0.8, by CREATE EXTENSION vector'

interface Setting {
  readonly ground: Ground
  readonly archive: { readonly tenantId: string; readonly agentId: string; readonly model: string }
  readonly vectors: ReadonlyMap<string, Float32Array>
  readonly next: () => Float32Array
}

async function createArchive(open?: typeof createPgvectorDatabase): Promise<Setting> {
  const ground = await createGround(open)
  onTestFinished(() => ground.close())
  const { createAgent } = await ground.run(
    'mutation { createAgent(input: { name: "a", model: "demo/scripted" }) { agent { id } } }',
  )
  const agentId = uuidOf('Agent', createAgent.agent.id)!
  const archive = { tenantId: ground.viewer.tenantId, agentId, model }
  const next = createVectors(64)
  return { ground, archive, next, vectors: await addManyPassages(ground.db, archive, size, next) }
}

/** The archive's indexes, the schema of pgvector, and how many passages are in the indexes. */
async function indexesOf({ ground }: Setting) {
  const { rows } = await ground.pool.query(
    "select relname as name, indisvalid as valid from pg_index join pg_class on pg_class.oid = indexrelid where relname like 'archive\\_%' order by 1",
  )
  return rows.map(({ name, valid }) => `${name.endsWith('_new') ? 'new' : 'whole'}${valid ? '' : ' invalid'}`)
}

async function countNumbers({ ground }: Setting): Promise<number> {
  return (await ground.pool.query('select count(numbers) as count from passage_vectors')).rows[0].count
}

/** Whether the nearest of each of these is itself, and which way the searches went. */
async function search({ ground, archive }: Setting, vectors: Iterable<[string, Float32Array]>) {
  const ways = new Set<string>()
  const db = hookDatabase(ground.pool, {
    before: (text) =>
      void (/ (bit_count|operator)\(/.exec(text)?.[1] && ways.add(text.includes('bit_count(') ? 'bits' : 'index')),
  })
  for (const [id, vector] of vectors) {
    const given = { agentId: archive.agentId, query: 'zebra', tags: [], limit: 1, embed: async () => vector }
    const [match] = await searchPassages(db, archive, given)
    expect(match?.passage.id).toBe(id)
  }
  return [...ways]
}

const some = ({ vectors }: Setting) => [...vectors].filter((_, index) => index % 40 === 0)

describe.skipIf(!havePgvector)('the index of a large archive', () => {
  test('[PAS15] is made while vectors are stored, by one process at a time, and used once all are in it', async () => {
    const setting = await createArchive(createPgvectorDatabase)
    const { ground, archive, next } = setting
    const reached = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const db = hookDatabase(ground.pool, {
      before: async (text) => {
        if (!text.includes('set numbers')) return
        reached.resolve()
        await gate.promise
      },
    })
    const tending = tendArchiveIndexes({ db, url: ground.url }, { above: size - 1, stop: never })
    await reached.promise
    expect(await indexesOf(setting)).toEqual(['new'])
    const added = await addManyPassages(ground.db, archive, 10, next)
    expect(await countNumbers(setting)).toBe(10)
    expect(await search(setting, added)).toEqual(['bits'])
    // Another process leaves it alone.
    await tendArchiveIndexes(ground, { above: size - 1, stop: never })
    expect(await indexesOf(setting)).toEqual(['new'])
    gate.resolve()
    await tending
    expect(await indexesOf(setting)).toEqual(['whole'])
    expect(await countNumbers(setting)).toBe(size + 10)
    expect(await search(setting, [...added, ...some(setting)])).toEqual(['index'])
    expect(await search(setting, await addManyPassages(ground.db, archive, 10, next))).toEqual(['index'])
  })

  test('[PAS15] is continued by another process if the first one dies, or made again if it was not yet valid', async () => {
    const setting = await createArchive(createPgvectorDatabase)
    const { ground } = setting
    const stop = new AbortController()
    const db = hookDatabase(ground.pool, {
      after: (text) => {
        if (text.includes('set numbers')) stop.abort()
      },
    })
    await tendArchiveIndexes({ db, url: ground.url }, { above: size - 1, stop: stop.signal })
    expect(await indexesOf(setting)).toEqual(['new'])
    expect(await countNumbers(setting)).toBe(100)
    expect(await search(setting, some(setting))).toEqual(['bits'])
    const tend = () => tendArchiveIndexes(ground, { above: size - 1, stop: never })
    await tend()
    expect(await indexesOf(setting)).toEqual(['whole'])
    // As a server leaves it that died while it made the index.
    await ground.pool.query(
      "update pg_index set indisvalid = false where indexrelid = (select oid from pg_class where relname like 'archive\\_%')",
    )
    expect(await indexesOf(setting)).toEqual(['whole invalid'])
    expect(await search(setting, some(setting))).toEqual(['bits'])
    await tend()
    expect(await indexesOf(setting)).toEqual(['whole'])
    expect(await search(setting, some(setting))).toEqual(['index'])
  })

  test('[PAS15] is kept until the archive is half as large', async () => {
    const setting = await createArchive(createPgvectorDatabase)
    const { ground, vectors } = setting
    const tend = () => tendArchiveIndexes(ground, { above: size - 1, stop: never })
    await tend()
    const ids = [...vectors.keys()]
    const keep = (count: number) =>
      ground.pool.query('delete from passages where id = any($1)', [ids.slice(0, size - count)])
    await keep(size / 2)
    await tend()
    expect(await indexesOf(setting)).toEqual(['whole'])
    expect(await search(setting, [...vectors].slice(-5))).toEqual(['index'])
    await keep(size / 2 - 1)
    await tend()
    expect(await indexesOf(setting)).toEqual([])
    expect(await search(setting, [...vectors].slice(-5))).toEqual(['bits'])
  })

  test('[PAS15] is left to Postgres by a process that stops meanwhile', async () => {
    const setting = await createArchive(createPgvectorDatabase)
    const { ground } = setting
    const stop = new AbortController()
    const writer = await ground.pool.connect()
    await writer.query('begin; update passage_vectors set model = model')
    const tending = tendArchiveIndexes(ground, { above: size - 1, stop: stop.signal })
    // It waits for the transaction that began before.
    await expect.poll(() => indexesOf(setting)).toEqual(['new invalid'])
    stop.abort()
    await tending
    await writer.query('rollback')
    writer.release()
    await expect.poll(() => indexesOf(setting)).toEqual(['new'])
    const tend = () => tendArchiveIndexes(ground, { above: size - 1, stop: never })
    await expect.poll(() => tend().then(() => indexesOf(setting))).toEqual(['whole'])
    expect(await search(setting, some(setting))).toEqual(['index'])
  })

  test('[PAS16] searches go on if the database loses pgvector or gets it, in whichever schema', async () => {
    const setting = await createArchive(createPgvectorDatabase)
    const { ground, archive, next } = setting
    const tend = () => tendArchiveIndexes(ground, { above: size - 1, stop: never })
    await tend()
    await ground.pool.query('drop extension vector cascade')
    expect(await search(setting, some(setting))).toEqual(['bits'])
    expect(await search(setting, await addManyPassages(ground.db, archive, 10, next))).toEqual(['bits'])
    await tend()
    await ground.pool.query('create schema "Other things"; create extension vector schema "Other things"')
    await tend()
    expect(await search(setting, some(setting))).toEqual(['index'])
    expect(await countNumbers(setting)).toBe(size + 10)
  })

  test('[PAS17] is not made by an account that may not, and its searches go by bits', async () => {
    const setting = await createArchive(createPgvectorDatabase)
    const { ground } = setting
    await ground.pool.query(
      'create role clerk login; grant select, insert, update, delete on all tables in schema public to clerk',
    )
    const { log } = captureLog()
    const clerk = await openDatabase(ground.url.replace('holdpoint@', 'clerk@'), { log })
    onTestFinished(() => clerk.close())
    await expect(tendArchiveIndexes(clerk, { above: size - 1, stop: never })).rejects.toThrow(
      'must be owner of table passage_vectors',
    )
    expect(await indexesOf(setting)).toEqual([])
    expect(await search(setting, some(setting))).toEqual(['bits'])
  })
})

test('[PAS17] without pgvector, the log says once that an archive is large', async () => {
  const setting = await createArchive()
  const { log, lines } = captureLog()
  const look = (above: number) => createArchiveIndexer({ database: setting.ground, log }, { above })
  await look(size)(never)
  expect(lines).toEqual([])
  const tend = look(size - 1)
  await tend(never)
  await tend(never)
  expect(lines).toEqual([expect.objectContaining({ msg: missing, agentId: expect.any(String), passages: size })])
  expect(await indexesOf(setting)).toEqual([])
  expect(await search(setting, some(setting))).toEqual(['bits'])
})
