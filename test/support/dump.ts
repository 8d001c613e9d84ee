import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

import pg from 'pg'

import { prepareDatabase } from '../../src/store/database/migrate.ts'
import { createCluster, openDataFolder } from '../../src/store/database/embedded/data-folder.ts'
import { openDatabase } from '../../src/store/database/open-database.ts'
import { createLog } from '../../src/util/log.ts'

const run = promisify(execFile)

/** Both get the URL of a database and a folder of the test. */
export interface DumpTool {
  dump(url: string, folder: string): Promise<void>
  /** Into an empty database. */
  restore(url: string, folder: string): Promise<void>
}

const listTables = `select relname as name from pg_class
  where relnamespace = 'public'::regnamespace and relkind = 'r' order by relname`

const listSequences = `select sequencename as name, last_value as value from pg_sequences where schemaname = 'public'`

/**
 * Copies the rows as pg_dump and pg_restore would, for machines that have neither: the server copies all tables from
 * one snapshot and loads them without triggers. The tables come from the migrations.
 */
export const copyTool: DumpTool = {
  async dump(url, folder) {
    await mkdir(join(folder, 'copy'))
    await chmod(join(folder, 'copy'), 0o777)
    await withClient(url, async (client) => {
      await client.query('begin isolation level repeatable read read only')
      for (const { name } of (await client.query(listTables)).rows)
        await client.query(`copy ${name} to '${join(folder, 'copy', name)}'`)
      await client.query('commit')
    })
  },
  async restore(url, folder) {
    const log = createLog('error')
    const database = await openDatabase(url, { log, poolSize: 2 })
    await prepareDatabase(database, { log })
    await database.close()
    await withClient(url, async (client) => {
      await client.query('set session_replication_role = replica')
      await client.query('truncate kysely_migration, kysely_migration_lock')
      for (const { name } of (await client.query(listTables)).rows)
        await client.query(`copy ${name} from '${join(folder, 'copy', name)}'`)
      for (const { name } of (await client.query(listSequences)).rows) {
        const [, table, column] = /^(.+)_(ordinal|seq)_seq$/.exec(name)!
        await client.query(`select setval('${name}', coalesce(max(${column}), 0) + 1) from ${table}`)
      }
    })
  },
}

/**
 * An installed Postgres with its programs. Undefined if there is none. The programs must have the version of the
 * server.
 */
export const installedBinaries = findInstalled()
export const installedMajor = Number(installedBinaries?.split('/').at(-2))

export const dumpTool: DumpTool = {
  async dump(url, folder) {
    await run(join(installedBinaries!, 'pg_dump'), ['--format=custom', `--file=${folder}/dump`, url])
  },
  async restore(url, folder) {
    await run(join(installedBinaries!, 'pg_restore'), ['--no-owner', '--exit-on-error', '-d', url, `${folder}/dump`])
  },
}

function findInstalled(): string | undefined {
  const parent = '/usr/lib/postgresql'
  const folders = existsSync(parent) ? readdirSync(parent).map((major) => join(parent, major, 'bin')) : []
  return folders.find((folder) =>
    ['postgres', 'initdb', 'pg_dump', 'pg_restore'].every((file) => existsSync(join(folder, file))),
  )
}

/** A data folder of the installed version, which the launcher then serves with that version's binaries. */
export async function makeInstalledFolder(folder: string): Promise<string> {
  const dataFolder = await openDataFolder(join(folder, 'installed'))
  const binaries = { folder: installedBinaries!, major: installedMajor }
  await createCluster(dataFolder, { binaries, outsideFolder: folder, sync: false, log: createLog('error') })
  return dataFolder.folder
}

/** The URL of an empty database on the same server. */
export async function createEmptyBeside(url: string): Promise<string> {
  const name = `beside_${randomUUID().replaceAll('-', '')}`
  await withClient(url, (client) => client.query(`create database ${name} template template0`))
  return url.replace(/[^/]+$/, name)
}

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
