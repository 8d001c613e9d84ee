import type { OpenDatabase } from '../../../src/store/database/open-database.ts'
import { createTestDatabase } from '../../support/database.ts'
import { createGraphQLClient, type GraphQLClient } from '../../support/graphql-client.ts'
import { spawnMain, type ServerProcess } from '../../support/server-process.ts'

/** Repeats a run: the seed is part of every failure's message. */
export const seed = Number(process.env['HOLDPOINT_FUZZ_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

export interface FuzzedServer {
  readonly url: string
  readonly client: GraphQLClient
  readonly database: OpenDatabase
  /** Throws if the process has ended, does not answer, or logged something that must not happen. */
  assertSound(options?: { readonly besidesErrors?: boolean }): Promise<void>
  stop(): Promise<void>
}

/** A server in a separate process, so that its end does not end the test. */
export async function startFuzzedServer(
  env: Readonly<Record<string, string>> = {},
  authorization?: string,
): Promise<FuzzedServer> {
  const database = await createTestDatabase()
  const server = spawnMain(['serve'], { DATABASE_URL: database.url, LOG_LEVEL: 'warn', ...env })
  const url = await server.ready()
  const client = createGraphQLClient(url, authorization === undefined ? {} : { authorization })
  return {
    url,
    client,
    database,
    async assertSound({ besidesErrors = false } = {}) {
      const bad = badLines(server, besidesErrors)
      if (bad.length > 0) throw new Error(`seed ${seed}: the log says\n${bad.slice(0, 10).join('\n')}`)
      if (server.child.exitCode !== null)
        throw new Error(`seed ${seed}: the server ended with ${server.child.exitCode}`)
      await client.data('{ __typename }')
    },
    async stop() {
      server.child.kill('SIGTERM')
      await server.ended
      await database.close()
    },
  }
}

/**
 * Errors of the server itself. A client's mistake is not one; a failing database is, and `besidesErrors` says that it
 * failed.
 */
function badLines(server: ServerProcess, besidesErrors: boolean): string[] {
  const bad = besidesErrors ? /unhandled|uncaught|this is a bug/i : /unhandled|uncaught|this is a bug|"level":[56]0/i
  return server
    .stderr()
    .split('\n')
    .filter((line) => bad.test(line))
}
