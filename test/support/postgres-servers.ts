import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync } from 'node:fs'
import { chown } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import pg from 'pg'

import { chooseAccount, cleanSurroundings, runAs, type Account } from '../../src/store/database/embedded/account.ts'
import { openDatabase, type OpenDatabase } from '../../src/store/database/open-database.ts'
import { prepareDatabase } from '../../src/store/database/migrate.ts'
import { createLog } from '../../src/util/log.ts'
import { freePort } from './free-port.ts'
import { makeTemporaryFolder } from './temporary-folder.ts'

const programs = globSync('/usr/lib/postgresql/*/bin/pg_basebackup').map(dirname).at(-1)

/** The tests with standbys run if a whole Postgres is installed, for example with `apt-get install postgresql`. */
export const havePostgres = programs !== undefined

/** Debian keeps the extensions of each version in a folder of their own. */
export const havePgvector =
  programs !== undefined && existsSync(programs.replace('/lib/', '/share/').replace(/bin$/, 'extension/vector.control'))

/** A Postgres server of a test, with settings of its own. Everyone may connect without a password. */
export interface PostgresServer {
  readonly url: string
  readonly folder: string
  /** Gives a file to the account of the server. */
  own(file: string): Promise<void>
  /** Executes a statement as an administrator. */
  execute(statement: string): Promise<any[]>
  /** A copy that follows this server. Commits wait for it from then on. */
  startStandby(): Promise<PostgresServer>
  /** Makes a standby the primary. Resolves once it takes writes. */
  promote(): Promise<void>
  /** Ends all of its processes with SIGKILL. */
  kill(): Promise<void>
}

export async function startPostgres(
  settings: Readonly<Record<string, string>> = {},
  within?: string,
): Promise<PostgresServer> {
  const folder = within ?? (await makeTemporaryFolder())
  const account = await chooseAccount([])
  if (account) await chown(folder, account.uid, account.gid)
  const data = join(folder, 'data')
  await run(account, 'initdb', ['-D', data, '-U', 'holdpoint', '-A', 'trust', '-E', 'UTF8', '--no-sync'])
  return start(account, data, settings)
}

/** A migrated database on a server of its own that has pgvector. Closing it ends the server. */
export async function createPgvectorDatabase(): Promise<OpenDatabase> {
  const server = await startPostgres()
  await server.execute('create extension vector')
  const log = createLog('error')
  const database = await openDatabase(server.url, { log, poolSize: 5 })
  await prepareDatabase(database, { log })
  const close = async () => {
    await database.close()
    await server.kill()
  }
  return { ...database, close }
}

async function run(account: Account | undefined, program: string, args: readonly string[]): Promise<void> {
  const { ok, stderr } = await runAs(account, join(programs!, program), args)
  if (!ok) throw new Error(`${program} failed: ${stderr}`)
}

async function start(
  account: Account | undefined,
  folder: string,
  settings: Readonly<Record<string, string>>,
): Promise<PostgresServer> {
  const port = await freePort()
  const all = {
    ...{
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      port: String(port),
      fsync: 'off',
      timezone: 'UTC',
    },
    ...settings,
  }
  const args = ['-D', folder, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
  const child: ChildProcess = spawn(join(programs!, 'postgres'), args, {
    ...cleanSurroundings,
    ...(account && { uid: account.uid, gid: account.gid }),
    stdio: 'ignore',
    // All of its processes are ended together.
    detached: true,
  })
  const ended = once(child, 'exit')
  const url = `postgres://holdpoint@127.0.0.1:${port}/postgres`

  async function execute(statement: string): Promise<any[]> {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query(statement)).rows
    } finally {
      await client.end()
    }
  }

  async function until(statement: string): Promise<void> {
    while ((await execute(statement).catch(() => [])).length === 0) {
      if (child.exitCode !== null) throw new Error(`Postgres in ${folder} ended with ${child.exitCode}`)
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
  }

  await until('select 1')
  return {
    url,
    folder,
    own: async (file) => account && chown(file, account.uid, account.gid),
    execute,
    async startStandby() {
      const copy = `${folder}-standby`
      const source = ['-d', url, '-D', copy, '-R', '-X', 'stream', '-c', 'fast', '--no-sync']
      await run(account, 'pg_basebackup', source)
      const standby = await start(account, copy, settings)
      await execute("alter system set synchronous_standby_names = '*'")
      await execute('select pg_reload_conf()')
      await until("select from pg_stat_replication where sync_state = 'sync'")
      return standby
    },
    async promote() {
      await execute('select pg_promote(wait => false)')
      await until('select 1 where not pg_is_in_recovery()')
    },
    async kill() {
      try {
        process.kill(-child.pid!, 'SIGKILL')
      } catch {
        // It has ended before.
      }
      await ended
    },
  }
}
