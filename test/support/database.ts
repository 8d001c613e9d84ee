import { randomUUID } from 'node:crypto'

import pg from 'pg'
import { inject } from 'vitest'

import { openDatabase, type OpenDatabase } from '../../src/store/open-database.ts'
import { createLog } from '../../src/util/log.ts'

/** A migrated database of the calling test's own; `close()` removes it. */
export async function createTestDatabase(): Promise<OpenDatabase> {
  return cloneDatabase(inject('postgres').template)
}

/** A database with nothing in it, for tests of what the migrations do; `close()` removes it. */
export async function createEmptyDatabase(): Promise<OpenDatabase> {
  return cloneDatabase('template0')
}

async function cloneDatabase(template: string): Promise<OpenDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await administer(`create database ${name} template ${template}`)
  const database = await openDatabase(inject('postgres').url.replace(/[^/]+$/, name), { log: createLog('error') })
  let closing: Promise<void> | undefined
  const close = async () => {
    await database.close()
    await administer(`drop database if exists ${name} with (force)`)
  }
  return { ...database, close: () => (closing ??= close()) }
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
