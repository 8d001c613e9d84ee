import type { OpenDatabase } from '../../src/store/database/open-database.ts'
import { createTestDatabase } from './database.ts'
import { createGraphQLClient, type GraphQLClient } from './graphql-client.ts'
import { badLines, spawnMain, type ServerProcess } from './server-process.ts'

export interface OwnServer extends ServerProcess {
  readonly url: string
  readonly client: GraphQLClient
  readonly database: OpenDatabase
  /** Throws if the process has ended, does not answer, or logged something that must not happen. */
  assertSound(options?: { readonly besidesErrors?: boolean }): Promise<void>
  stop(): Promise<void>
}

/** A server in a process of its own, so that its end does not end the test, on a database of its own. */
export async function startOwnServer(
  env: Readonly<Record<string, string>> = {},
  authorization?: string,
): Promise<OwnServer> {
  const database = await createTestDatabase()
  const server = spawnMain(['serve'], { DATABASE_URL: database.url, LOG_LEVEL: 'warn', ...env })
  const url = await server.ready()
  const client = createGraphQLClient(url, authorization === undefined ? {} : { authorization })
  return {
    ...server,
    url,
    client,
    database,
    async assertSound(options) {
      const bad = badLines(server, options)
      if (bad.length > 0) throw new Error(`the log says\n${bad.slice(0, 10).join('\n')}`)
      if (server.child.exitCode !== null) throw new Error(`the server ended with ${server.child.exitCode}`)
      await client.data('{ __typename }')
    },
    async stop() {
      server.child.kill('SIGTERM')
      await server.ended
      await database.close()
    },
  }
}
