import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface TemporaryFolder {
  readonly path: string
  remove(): Promise<void>
}

/** A folder that every account may enter, which Postgres needs when root runs the tests. */
export async function makeTemporaryFolder(): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(await realpath(tmpdir()), 'holdpoint-test-'))
  await chmod(path, 0o755)
  return {
    path,
    async remove() {
      // The database is elsewhere if its account still could not enter the folder.
      const database = await realpath(join(path, 'postgres')).catch(() => path)
      await rm(database, { recursive: true, force: true })
      await rm(path, { recursive: true, force: true })
    },
  }
}
