import { randomUUID } from 'node:crypto'

import pg from 'pg'
import { inject } from 'vitest'

import { openDatabase, type OpenDatabase } from '../../src/store/open-database.ts'
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
  await administer(`create database ${name} template ${template} strategy file_copy`)
  return openDatabase(inject('postgres').url.replace(/[^/]+$/, name), { log: createLog('error'), poolSize: 5 })
}

async function administer(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: inject('postgres').url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
