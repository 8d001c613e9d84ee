import { chmod, mkdtemp, readdir, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { inject } from 'vitest'

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

/** Creates the folder of all temporary folders. */
export async function openTemporaryFolder(parent = tmpdir()): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await makeFolder(await realpath(parent))
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
  const path = await mkdtemp(join(parent, 'holdpoint-test-'))
  await chmod(path, 0o755)
  return path
}
