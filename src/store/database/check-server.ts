import { randomInt } from 'node:crypto'
import { once } from 'node:events'

import pg from 'pg'

import { errorMessage } from '../../util/error-message.ts'
import { StartError, errorCode } from '../../util/start-error.ts'
import { onlyRow } from './rows.ts'

const oldestVersion = 14

/** Where the database is, without the password, and the setting that says so. */
export interface Place {
  readonly address: string
  readonly user: string
  readonly database: string
  readonly setting: 'DATABASE_URL' | 'DATABASE_DIRECT_URL'
}

/** Parses the URL the way pg does. */
export function describePlace(url: string, setting: Place['setting']): Place {
  const { host, port, user, database } = new pg.Client({ connectionString: url })
  const address = host.startsWith('/') ? host : `${host}:${port}`
  return { address, user: user ?? '', database: database ?? '', setting }
}

/**
 * Throws a StartError unless the server is a primary of a supported version, and if `needsSessions`, gives each
 * connection its own session.
 */
export async function checkServer(
  pool: pg.Pool,
  place: Place,
  { needsSessions }: { readonly needsSessions: boolean },
): Promise<void> {
  try {
    const client = await pool.connect()
    try {
      await checkVersion(client, place)
      if (needsSessions && !(await keepsSession(client, pool))) throw transactionPooling(place)
      // A pooler in statement mode refuses this.
      await client.query('begin')
      await client.query('commit')
    } finally {
      client.release()
    }
  } catch (error) {
    throw error instanceof StartError ? error : explain(error, place)
  }
}

/** Throws a StartError unless both pools reach the same database: a lock that one of them holds, the other cannot get. */
export async function checkSameDatabase(pool: pg.Pool, direct: pg.Pool): Promise<void> {
  const lock = [randomInt(2 ** 31), randomInt(2 ** 31)]
  const holder = await direct.connect()
  try {
    await holder.query('begin')
    await holder.query('select pg_advisory_xact_lock($1, $2)', lock)
    const taken = await pool.query<{ free: boolean }>('select pg_try_advisory_xact_lock($1, $2) as free', lock)
    if (!onlyRow(taken).free) return
    throw new StartError(
      'DATABASE_URL and DATABASE_DIRECT_URL lead to different databases: both must lead to the same one, the first through a pooler.',
    )
  } finally {
    holder.release(true)
  }
}

async function checkVersion(client: pg.PoolClient, { address, setting }: Place): Promise<void> {
  const server = await client.query<{ number: string; version: string; standby: boolean }>(
    `select current_setting('server_version_num') as number, current_setting('server_version') as version, pg_is_in_recovery() as standby`,
  )
  const { number, version, standby } = onlyRow(server)
  if (Number(number) < oldestVersion * 10_000) {
    throw new StartError(
      `Postgres at ${address} is version ${version}, and Holdpoint needs ${oldestVersion} or later: upgrade it, or set ${setting} to a newer one.`,
    )
  }
  if (standby) {
    throw new StartError(`Postgres at ${address} is a read-only standby: set ${setting} to the primary server.`)
  }
}

/** Longer than a notification takes. Only a start that is refused waits so long. */
const hearMs = 3_000

/**
 * Whether the connection has a session of its own. A connection pooler between us and Postgres may lend each session to
 * one connection after another, as PgBouncer does in transaction mode. Then a notification does not reach the connection
 * that listens: between two transactions, it has no session.
 */
async function keepsSession(client: pg.PoolClient, pool: pg.Pool): Promise<boolean> {
  const announced = (client as { readonly processID?: number | null }).processID ?? null
  // A pooler announces a process id of its own. Without a pooler this is the only extra statement.
  if (announced === null || announced === (await backendOf(client))) return true
  const channel = `holdpoint_check_${randomInt(2 ** 31)}`
  await client.query(`listen ${channel}`)
  const heard = once(client, 'notification', { signal: AbortSignal.timeout(hearMs) }).then(
    () => true,
    () => false,
  )
  await pool.query(`notify ${channel}`)
  const isHeard = await heard
  await client.query(`unlisten ${channel}`)
  return isHeard
}

async function backendOf(client: pg.PoolClient): Promise<number> {
  return onlyRow(await client.query<{ pid: number }>('select pg_backend_pid() as pid')).pid
}

function transactionPooling({ address, setting }: Place): StartError {
  const pooler = `At ${address} there is a connection pooler in transaction mode, such as PgBouncer, and`
  return new StartError(
    setting === 'DATABASE_URL'
      ? `${pooler} Holdpoint needs a few sessions of its own: set DATABASE_DIRECT_URL to the same database without the pooler, or set pool_mode = session.`
      : `${pooler} DATABASE_DIRECT_URL needs a session for each connection: set it to Postgres itself.`,
  )
}

function explain(error: unknown, { address, user, database, setting }: Place): StartError {
  const code = errorCode(error)
  const message = errorMessage(error)
  const failed = (line: string) => new StartError(line, { cause: error })
  switch (code) {
    case '28P01':
    case '28000':
      return failed(
        `Postgres at ${address} refused the user "${user}" (${message}): correct the user or the password in ${setting}.`,
      )
    case '3D000':
      return failed(
        `Postgres at ${address} has no database "${database}": create it, or correct the name in ${setting}.`,
      )
    case '42501':
      return failed(
        `Postgres at ${address} does not let "${user}" use the database "${database}" (${message}): grant it, or correct ${setting}.`,
      )
    case '53300':
      return failed(
        `Postgres at ${address} has no connection left (${message}): raise its max_connections, or close other clients.`,
      )
    case '08P01':
      // PgBouncer's words for settings and statements that its mode does not support.
      if (message.includes('startup parameter'))
        return failed(
          `At ${address} there is a connection pooler (${message}), and Holdpoint needs a few sessions of its own: set DATABASE_DIRECT_URL to the same database without the pooler, or set pool_mode = session and ignore_startup_parameters = idle_in_transaction_session_timeout in PgBouncer.`,
        )
      if (message.includes('statement pooling'))
        return failed(
          `At ${address} there is a connection pooler in statement mode (${message}): set pool_mode = transaction and DATABASE_DIRECT_URL, or set pool_mode = session.`,
        )
      break
    case '57P03':
      return failed(`Postgres at ${address} is not ready (${message}): try again in a moment.`)
    default:
  }
  // pg itself reports that the server asks for a password and the URL has none.
  if (message.includes('password must be a')) {
    return failed(`Postgres at ${address} asks for a password for "${user}": add it to ${setting}.`)
  }
  const reason = code ?? message
  return failed(`No Postgres can be reached at ${address} (${reason}): start it, or correct ${setting}.`)
}
