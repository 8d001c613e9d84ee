import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface TemporaryFolder {
  readonly path: string
  remove(): Promise<void>
}

/** A folder that every account may enter, as Postgres needs it when root runs the tests. */
export async function makeTemporaryFolder(): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(await realpath(tmpdir()), 'holdpoint-test-'))
  await chmod(path, 0o755)
  return {
    path,
    async remove() {
      // The database lies elsewhere if its account could not enter the folder all the same.
      const database = await realpath(join(path, 'postgres')).catch(() => path)
      await rm(database, { recursive: true, force: true })
      await rm(path, { recursive: true, force: true })
    },
  }
}
