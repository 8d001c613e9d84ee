import { createApp, type App, type AppOptions } from '../../src/app.ts'
import { readConfig } from '../../src/config/config.ts'
import type { OpenDatabase } from '../../src/store/database/open-database.ts'
import { createLog } from '../../src/util/log.ts'
import { createTestDatabase } from './database.ts'
import { createGraphQLClient, type GraphQLClient } from './graphql-client.ts'
import { keepOutput } from './kept-output.ts'

export interface TestApp extends GraphQLClient {
  readonly app: App
  readonly database: OpenDatabase
  /** Stops the app, and removes its database unless the app was given one. */
  stop(): Promise<void>
}

export interface TestAppOptions extends Partial<Omit<AppOptions, 'config' | 'database'>> {
  /** For several apps that share a database. The test closes it. */
  readonly database?: OpenDatabase
  /** Environment variables, as `readConfig` takes them. */
  readonly env?: Readonly<Record<string, string>>
}

/** A whole server in this process, on a free port and a separate database, with a real client. */
export async function startTestApp({ database: given, env, ...options }: TestAppOptions = {}): Promise<TestApp> {
  const database = given ?? (await createTestDatabase())
  const config = readConfig({ PORT: '0', HOLDPOINT_DRAIN_MS: '2000', ...env })
  const app = await createApp({
    role: 'serve',
    log: createLog('trace', { write: keepOutput }),
    ...options,
    config,
    database,
  })
  const { url } = await app.start()
  return {
    ...createGraphQLClient(url ?? 'http://127.0.0.1:9/graphql'),
    app,
    database,
    async stop() {
      await app.stop()
      if (!given) await database.close()
    },
  }
}
