import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { afterEach, beforeEach, expect, test } from 'vitest'

import { migrate, prepareDatabase } from '../../src/store/database/migrate.ts'
import { openDatabase, type OpenDatabase } from '../../src/store/database/open-database.ts'
import { createLog } from '../../src/util/log.ts'
import { StartError } from '../../src/util/start-error.ts'
import { captureLog } from '../support/captured-log.ts'
import { createEmptyDatabase } from '../support/database.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'

const log = createLog('error')

let database: OpenDatabase
let folder: string
beforeEach(async () => {
  database = await createEmptyDatabase()
  folder = await makeTemporaryFolder()
})
afterEach(() => database.close())

async function migrateWith(files: Record<string, string>): Promise<string[]> {
  await mkdir(folder, { recursive: true })
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  return migrate(database.db, pathToFileURL(`${folder}/`))
}

const creating = (table: string) => `export async function up(db) { await db.schema.createTable('${table}').execute() }`

const altering = (table: string) =>
  `export async function up(db) { await db.schema.alterTable('${table}').addColumn('more', 'integer').execute() }`

test('[MIG1] pools that migrate an empty database at once all succeed, and each migration runs once', async () => {
  const others = await Promise.all([1, 2, 3].map(() => openDatabase(database.url, { log, poolSize: 4 })))
  const ran = await Promise.all(others.map((other) => prepareDatabase(other, { log })))
  await Promise.all(others.map((other) => other.close()))
  const { rows } = await database.pool.query<{ name: string }>('select name from kysely_migration order by name')
  expect(rows.length).toBeGreaterThan(0)
  expect(ran.flat().toSorted()).toEqual(rows.map((row) => row.name))
})

test('[MIG2] processes that migrate an empty database at once all succeed, from whatever folder', async () => {
  const script = `
    import { openDatabase } from '${new URL('../../src/store/database/open-database.ts', import.meta.url).href}'
    import { prepareDatabase } from '${new URL('../../src/store/database/migrate.ts', import.meta.url).href}'
    import { createLog } from '${new URL('../../src/util/log.ts', import.meta.url).href}'
    const log = createLog('error')
    const database = await openDatabase(${JSON.stringify(database.url)}, { log })
    await prepareDatabase(database, { log })
    await database.close()`
  const run = async () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { cwd: '/', stdio: 'inherit' })
    const [code] = await once(child, 'exit')
    return code
  }
  expect(await Promise.all([run(), run()])).toEqual([0, 0])
  expect(await prepareDatabase(database, { log })).toEqual([])
})

test('[MIG3] a migration that fails is named in one line and leaves the database unchanged', async () => {
  const files = {
    '0001_good.ts': creating('good'),
    '0002_bad.ts': "export async function up() { throw new Error('no\\nway') }",
  }
  const error = await migrateWith(files).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(StartError)
  expect((error as StartError).message).toBe(
    'The migration 0002_bad failed and the database is as it was before (no way).',
  )
  const { rows } = await database.pool.query("select to_regclass('good') as good")
  expect(rows).toEqual([{ good: null }])
})

test('[MIG4] a database that a newer version has migrated is refused in one line', async () => {
  expect(await migrateWith({ '0001_old.ts': creating('old') })).toEqual(['0001_old'])
  await database.pool.query("insert into kysely_migration values ('0002_new', now()::text)")
  const error = await migrateWith({}).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(StartError)
  expect((error as StartError).message).toBe(
    'The database was migrated by a newer version of Holdpoint (it has 0002_new, which this version does not know): start that version, or restore a backup from before the upgrade.',
  )
})

test('[MIG5] a migration that cannot lock a table stops waiting, so that others can continue, and is tried again', async () => {
  await migrateWith({ '0001_old.ts': creating('busy') })
  const client = await database.pool.connect()
  await client.query('begin; lock table busy in access share mode')
  const migrating = migrateWith({ '0002_new.ts': altering('busy') })
  const waits = `select count(*)::integer as count from pg_locks where not granted and relation = 'busy'::regclass`
  const waiting = async () => (await database.pool.query<{ count: number }>(waits)).rows[0]!.count
  await expect.poll(waiting).toBe(1)
  // Later statements wait no longer than the migration itself.
  await database.pool.query('select from busy')
  await expect.poll(waiting).toBe(0)
  await client.query('rollback')
  client.release()
  expect(await migrating).toEqual(['0002_new'])
})

const lock = [0x686f6c64, 2].join()

test('[MIG6] a process that waits for the migrations of another says so after two seconds, and stops waiting when it is asked to', async () => {
  const holder = await database.pool.connect()
  await holder.query(`select pg_advisory_lock(${lock})`)
  const stop = new AbortController()
  const captured = captureLog()
  const stopped = prepareDatabase(database, { log: captured.log, signal: stop.signal })
  const waiting = prepareDatabase(database, { log: captured.log })
  await captured.until('another connection holds the lock for migrations; waiting until it is released')
  const { rows } = await holder.query<{ pid: number }>('select pg_backend_pid() as pid')
  expect(captured.lines[0]!['holder']).toMatchObject({ pid: rows[0]!.pid, name: 'holdpoint' })
  stop.abort()
  await expect(stopped).rejects.toThrow('aborted')
  await holder.query(`select pg_advisory_unlock(${lock})`)
  holder.release()
  expect((await waiting).length).toBeGreaterThan(0)
  const { rows: locks } = await database.pool.query("select from pg_locks where locktype = 'advisory' and objid = 2")
  expect(locks).toEqual([])
})
