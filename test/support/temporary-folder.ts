import { chmod, mkdtemp, readdir, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { inject } from 'vitest'

import { isAlive } from '../../src/store/database/embedded/postmaster-file.ts'
import { findMemory } from './memory.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Contains all temporary folders of the test run. */
    temporaryFolder: string
  }
}

/**
 * A new folder. It is removed with all the others when the test run ends, and not before: for minutes after many files
 * were deleted, ext4 takes long to create a file, and the tests create a hundred thousand.
 */
export function makeTemporaryFolder(): Promise<string> {
  return makeFolder(inject('temporaryFolder'))
}

/** Creates the folder of all temporary folders, and removes those of runs that were killed. */
export async function openTemporaryFolder(): Promise<{ path: string; remove(): Promise<void> }> {
  const parent = (await findMemory()) ?? (await realpath(tmpdir()))
  for (const name of await readdir(parent)) {
    const maker = /^holdpoint-test-(\d+)-/.exec(name)?.[1]
    if (maker === undefined || isAlive(Number(maker))) continue
    // A Postgres that still runs there ends when it finds its files gone. Those of another account stay.
    await rm(join(parent, name), { recursive: true }).catch(() => {})
  }
  const path = await makeFolder(parent)
  return {
    path,
    async remove() {
      // A database is elsewhere if its account still could not enter the folder.
      for (const name of await readdir(path)) {
        const database = await realpath(join(path, name, 'postgres')).catch(() => undefined)
        if (database !== undefined) await rm(database, { recursive: true })
      }
      await rm(path, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** Every account may enter it, which Postgres needs when root runs the tests. */
async function makeFolder(parent: string): Promise<string> {
  const path = await mkdtemp(join(parent, `holdpoint-test-${process.pid}-`))
  await chmod(path, 0o755)
  return path
}
