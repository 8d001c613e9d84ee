import { createApp as connectApp } from './app.ts'
import { databaseOptions, readGivenConfig, type GivenSettings } from './config/config.ts'
import type { Fetch, Handlers } from './server/handlers.ts'
import { openStore } from './store/database/open-store.ts'
import type { ToolDefinition } from './tools/registry.ts'
import { createLog } from './util/log.ts'
import { nearest } from './util/nearest.ts'
import { StartError } from './util/start-error.ts'

export type { Fetch, Handlers, RequestHandler, UpgradeHandler } from './server/handlers.ts'
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

const appOptions: readonly string[] = ['tools', 'settings', 'role'] satisfies (keyof AppOptions)[]
const roles: readonly string[] = ['serve', 'worker'] satisfies AppOptions['role'][]

/** A whole server inside a program. The program handles signals: nothing here listens for them. */
export interface App {
  /**
   * Drives runs and listens on `HOST` and `PORT`. `url` is the address of the API, null for a worker. An app is started
   * once, and not after `stop`.
   */
  start(): Promise<{ readonly url: string | null }>
  /** Drives runs, and returns the handlers for the program's own HTTP server. Use it instead of `start`. */
  attach(): Promise<Handlers>
  /**
   * Answers requests to `/graphql` inside this program, streams included, without a socket. For
   * `createClient({ fetch: app.fetch })` of `holdpoint/client`, after `start` or `attach`.
   */
  readonly fetch: Fetch
  /**
   * Lets running steps finish, hands back the rest, and closes everything that the app has opened, including the
   * embedded Postgres. May be called twice, and at any time.
   */
  stop(): Promise<void>
}

/** Opens the database and updates its tables. If that fails, throws an error that says what is wrong. */
export async function createApp(options: AppOptions = {}): Promise<App> {
  const { tools = [], settings = {}, role = 'serve' } = options
  const unknown = Object.keys(options).find((name) => !appOptions.includes(name))
  if (unknown !== undefined)
    throw new StartError(`createApp has no option "${unknown}". The nearest one is "${nearest(unknown, appOptions)}".`)
  if (!roles.includes(role)) throw new StartError('`role` of createApp must be "serve" or "worker".')
  const config = readGivenConfig(settings)
  const log = createLog(config.LOG_LEVEL)
  const { database, close } = await openStore({ ...databaseOptions(config), log })
  const app = await connectApp({ config, database, log, role, tools }).catch(async (error: unknown) => {
    await close()
    throw error
  })
  let stopping: Promise<void> | undefined
  const stop = async () => {
    try {
      await app.stop()
    } finally {
      await close()
    }
  }
  return { start: () => app.start(), attach: () => app.attach(), fetch: app.fetch, stop: () => (stopping ??= stop()) }
}
