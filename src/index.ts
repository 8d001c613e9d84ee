import { createApp as connectApp } from './app.ts'
import { readGivenConfig } from './config.ts'
import { prepareDatabase } from './prepare-database.ts'
import type { Handlers } from './server/handlers.ts'
import type { GivenSettings } from './settings.ts'
import { startEmbeddedPostgres } from './store/database/embedded/launch.ts'
import { openDatabase } from './store/database/open-database.ts'
import type { ToolDefinition } from './tools/registry.ts'
import { createLog } from './util/log.ts'

export type { Handlers, RequestHandler, UpgradeHandler } from './server/handlers.ts'
export { defineTool } from './tools/registry.ts'
export type { StandardToolDefinition, ToolContext, ToolDefinition, ToolFunction } from './tools/registry.ts'

export interface AppOptions {
  /** Tools in code, made with `defineTool`. They are called in the process that drives the run. */
  readonly tools?: readonly ToolDefinition[]
  /**
   * Settings by the names of the environment variables, such as `{ PORT: 8080 }`. A setting that is not given is read
   * from the environment. Without `DATABASE_URL`, the app starts the embedded Postgres.
   */
  readonly settings?: GivenSettings
  /** `worker` drives runs and has no API. Defaults to `serve`, which does both. */
  readonly role?: 'serve' | 'worker'
}

/** A whole server inside a program. The program handles signals: nothing here listens for them. */
export interface App {
  /** Drives runs and listens on `HOST` and `PORT`. `url` is the address of the API, null for a worker. */
  start(): Promise<{ readonly url: string | null }>
  /** Drives runs, and returns the handlers for the program's own HTTP server. Use it instead of `start`. */
  attach(): Promise<Handlers>
  /**
   * Lets running steps finish, hands back the rest, and closes everything that the app has opened, including the
   * embedded Postgres. May be called twice, and at any time.
   */
  stop(): Promise<void>
}

/** Opens the database and updates its tables. If that fails, throws an error that says what is wrong. */
export async function createApp({ tools = [], settings = {}, role = 'serve' }: AppOptions = {}): Promise<App> {
  const config = readGivenConfig(settings)
  const log = createLog(config.logLevel)
  const closers: (() => Promise<void>)[] = []
  let stopping: Promise<void> | undefined
  const stop = (): Promise<void> =>
    (stopping ??= (async () => {
      for (const close of closers.toReversed()) await close()
    })())
  try {
    let url = config.databaseUrl
    if (url === undefined) {
      const postgres = await startEmbeddedPostgres({ dataDir: config.dataDir, log })
      closers.push(() => postgres.stop())
      url = postgres.url
    }
    const database = await openDatabase(url, { log, prepare: config.preparedStatements })
    closers.push(() => database.close())
    await prepareDatabase(database, { log })
    const app = await connectApp({ config, database, log, role, tools })
    closers.push(() => app.stop())
    return { start: () => app.start(), attach: () => app.attach(), stop }
  } catch (error) {
    await stop()
    throw error
  }
}
