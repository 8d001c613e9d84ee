import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createApp, type AppOptions } from '../src/app.ts'
import { readConfig } from '../src/config/config.ts'
import { prepareDatabase } from '../src/store/database/migrate.ts'
import { startEmbeddedPostgres } from '../src/store/database/embedded/launch.ts'
import { openDatabase } from '../src/store/database/open-database.ts'
import { createLog } from '../src/util/log.ts'

const log = createLog('error')

export interface ThrowawayServer {
  readonly url: string
  readonly databaseUrl: string
  /** Stops it and removes everything that it created. May be called twice. */
  stop(): Promise<void>
}

/**
 * A whole server with its own database in a temporary folder, which is removed at the end, or on a Postgres that someone
 * else ends.
 */
export async function startThrowawayServer(
  options: Partial<Pick<AppOptions, 'tools' | 'providers'>> & {
    readonly env?: Readonly<Record<string, string>>
    readonly postgresUrl?: string | undefined
  } = {},
): Promise<ThrowawayServer> {
  const { env, postgresUrl, ...appOptions } = options
  const undo: (() => Promise<void>)[] = []
  let stopping: Promise<void> | undefined
  const stop = () =>
    (stopping ??= (async () => {
      for (const step of undo.toReversed()) await step()
    })())
  try {
    const databaseUrl = postgresUrl ?? (await startOwnPostgres(undo))
    const database = await openDatabase(databaseUrl, { log })
    undo.push(() => database.close())
    await prepareDatabase(database, { log })
    const config = readConfig({ PORT: '0', LOG_LEVEL: 'error', HOLDPOINT_DRAIN_MS: '0', ...env })
    const app = await createApp({ config, database, log, role: 'serve', ...appOptions })
    undo.push(() => app.stop())
    const { url } = await app.start()
    return { url: url!, databaseUrl, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function startOwnPostgres(undo: (() => Promise<void>)[]): Promise<string> {
  const folder = await mkdtemp(join(await realpath(tmpdir()), 'holdpoint-'))
  // Readable for every account, because Postgres does not run as root.
  await chmod(folder, 0o755)
  undo.push(() => rm(folder, { recursive: true, force: true }))
  const postgres = await startEmbeddedPostgres({ dataDir: folder, log })
  undo.push(async () => {
    await postgres.stop()
    await rm(postgres.folder, { recursive: true, force: true })
  })
  return postgres.url
}
