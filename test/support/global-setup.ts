import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import type { TestProject } from 'vitest/node'

import { prepareDatabase } from '../../src/store/database/migrate.ts'
import { startEmbeddedPostgres } from '../../src/store/database/embedded/launch.ts'
import { openDatabase } from '../../src/store/database/open-database.ts'
import { createLog } from '../../src/util/log.ts'
import { buildPrograms, type Programs } from './programs.ts'
import { findLeaks } from './kept-output.ts'
import { openTemporaryFolder } from './temporary-folder.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The test run's Postgres, and the migrated database in it that test files clone. */
    postgres: { readonly url: string; readonly template: string }
    programs: Programs
  }
}

const template = 'test_template'
const log = createLog('warn')

/** One Postgres for the whole test run, thrown away at its end. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const temporary = await openTemporaryFolder()
  const building = buildPrograms()
  // Awaited below. Until then, a failure has no handler.
  building.catch(() => {})
  const authentication = join(temporary.path, 'hba.conf')
  // The tests open thousands of connections to their databases, and SCRAM takes a third of the time of each.
  await writeFile(authentication, 'host /^test_ all 127.0.0.1/32 password\nhost all all 127.0.0.1/32 scram-sha-256\n')
  const postgres = await startEmbeddedPostgres({
    dataDir: join(temporary.path, 'cluster'),
    log,
    settings: {
      hba_file: authentication,
      fsync: 'off',
      full_page_writes: 'off',
      synchronous_commit: 'off',
      max_connections: '400',
      // Two hundred databases would be looked at once a minute.
      autovacuum_naptime: '1h',
      // For the tests that turn it on. Recording every statement of two hundred databases takes time.
      shared_preload_libraries: 'pg_stat_statements',
      'pg_stat_statements.track': 'none',
      compute_query_id: 'off',
    },
  })
  const output = join(temporary.path, 'output')
  await mkdir(output)
  const teardown = async () => {
    await postgres.stop()
    const leaks = findLeaks(output)
    await temporary.remove()
    if (leaks.length === 0) return
    // Vitest logs an error of the teardown, but would still end with 0.
    process.exitCode = 1
    console.error(`[SEC80] secrets are in the log of the tests' servers:\n${leaks.slice(0, 20).join('\n')}`)
  }
  try {
    const [programs] = await Promise.all([building, createTemplate(postgres.url)])
    project.provide('programs', programs)
  } catch (error) {
    await teardown()
    throw error
  }
  project.provide('temporaryFolder', temporary.path)
  project.provide('outputFolder', output)
  project.provide('postgres', { url: postgres.url, template })
  return teardown
}

async function createTemplate(url: string): Promise<void> {
  const maintenance = await openDatabase(url, { log, poolSize: 1 })
  await maintenance.pool.query(`create database ${template}`)
  await maintenance.close()
  const database = await openDatabase(url.replace(/[^/]+$/, template), { log })
  await prepareDatabase(database, { log })
  await database.close()
  // The first connection after the migrations caches the system catalogs in a file, which the copies then have too.
  const cached = await openDatabase(database.url, { log, poolSize: 1 })
  await cached.close()
}
