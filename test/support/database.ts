import { randomUUID } from 'node:crypto'

import pg from 'pg'
import { inject } from 'vitest'

import { openDatabase, type OpenDatabase } from '../../src/store/database/open-database.ts'
import { createLog } from '../../src/util/log.ts'

/**
 * A migrated database for the calling test. It is removed with the whole cluster at the end: dropping a single one
 * makes a checkpoint of all of them, and waits for every connection.
 */
export async function createTestDatabase(): Promise<OpenDatabase> {
  return cloneDatabase(inject('postgres').template)
}

/** An empty database, for tests of the migrations. */
export async function createEmptyDatabase(): Promise<OpenDatabase> {
  return cloneDatabase('template0')
}

async function cloneDatabase(template: string): Promise<OpenDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  // Copies the files. The default would also write every page of them to the WAL.
  await (await administration()).query(`create database ${name} template ${template} strategy file_copy`)
  return openDatabase(inject('postgres').url.replace(/[^/]+$/, name), { log: createLog('error'), poolSize: 5 })
}

let administering: Promise<pg.Client> | undefined

/** One connection for all test files of this process. It ends with the process. */
function administration(): Promise<pg.Client> {
  return (administering ??= connect())
}

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: inject('postgres').url })
  // The tests' Postgres stops before the process does.
  client.on('error', () => {})
  await client.connect()
  return client
}
