import pg from 'pg'

import { errorMessage } from '../util/error-message.ts'
import { StartError, errorCode } from '../util/start-error.ts'

const oldestVersion = 14

/** Where the database is, without the password. */
export interface Place {
  readonly address: string
  readonly user: string
  readonly database: string
}

/** Parses the URL the way pg does. */
export function describePlace(url: string): Place {
  const { host, port, user, database } = new pg.Client({ connectionString: url })
  return { address: host.startsWith('/') ? host : `${host}:${port}`, user: user ?? '', database: database ?? '' }
}

/**
 * Throws a StartError unless the server is a primary of a supported version that gives each connection its own session.
 */
export async function checkServer(pool: pg.Pool, place: Place): Promise<void> {
  try {
    const client = await pool.connect()
    try {
      await checkVersion(client, place)
      if (await sharesSessions(client, pool)) throw transactionPooling(place)
    } finally {
      client.release()
    }
  } catch (error) {
    throw error instanceof StartError ? error : explain(error, place)
  }
}

async function checkVersion(client: pg.PoolClient, place: Place): Promise<void> {
  const { rows } = await client.query<{ number: string; version: string; standby: boolean }>(
    `select current_setting('server_version_num') as number, current_setting('server_version') as version, pg_is_in_recovery() as standby`,
  )
  const { number, version, standby } = rows[0]!
  if (Number(number) < oldestVersion * 10_000) {
    throw new StartError(
      `Postgres at ${place.address} is version ${version}, and Holdpoint needs ${oldestVersion} or later: upgrade it, or set DATABASE_URL to a newer one.`,
    )
  }
  if (standby) {
    throw new StartError(`Postgres at ${place.address} is a read-only standby: set DATABASE_URL to the primary server.`)
  }
}

/**
 * Whether a connection pooler between us and Postgres lends the session of one connection to another, as PgBouncer does
 * in transaction mode. Workers need sessions of their own, for the lock that shows that they are alive and for LISTEN.
 */
async function sharesSessions(client: pg.PoolClient, pool: pg.Pool): Promise<boolean> {
  const announced = (client as { readonly processID?: number | null }).processID ?? null
  // A pooler announces a process id of its own. Without a pooler this is the only extra statement.
  if (announced === null || announced === (await backendOf(client))) return false
  for (let attempt = 0; attempt < 3; attempt += 1) {
    // A pooler that shares sessions gives the one that was released last to the transaction that begins next.
    const session = await backendOf(client)
    const other = await pool.connect()
    try {
      await other.query('begin')
      if ((await backendOf(other)) === session) return true
    } finally {
      await other.query('rollback').catch(() => {})
      other.release()
    }
  }
  return false
}

async function backendOf(client: pg.PoolClient): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]!.pid
}

function transactionPooling({ address }: Place): StartError {
  return new StartError(
    `At ${address} there is a connection pooler in transaction mode, such as PgBouncer, and Holdpoint needs a session for each connection: set DATABASE_URL to Postgres itself, or set pool_mode = session.`,
  )
}

function explain(error: unknown, { address, user, database }: Place): StartError {
  const code = errorCode(error)
  const message = errorMessage(error)
  const failed = (line: string) => new StartError(line, { cause: error })
  switch (code) {
    case '28P01':
    case '28000':
      return failed(
        `Postgres at ${address} refused the user "${user}" (${message}): correct the user or the password in DATABASE_URL.`,
      )
    case '3D000':
      return failed(
        `Postgres at ${address} has no database "${database}": create it, or correct the name in DATABASE_URL.`,
      )
    case '42501':
      return failed(
        `Postgres at ${address} does not let "${user}" use the database "${database}" (${message}): grant it, or correct DATABASE_URL.`,
      )
    case '53300':
      return failed(
        `Postgres at ${address} has no connection left (${message}): raise its max_connections, or close other clients.`,
      )
    case '08P01':
      // PgBouncer's words for settings and statements that its mode does not support.
      if (/startup parameter|statement pooling/.test(message))
        return failed(
          `At ${address} there is a connection pooler (${message}), and Holdpoint needs a session for each connection: set DATABASE_URL to Postgres itself, or set pool_mode = session and ignore_startup_parameters = idle_in_transaction_session_timeout in PgBouncer.`,
        )
      break
    case '57P03':
      return failed(`Postgres at ${address} is not ready (${message}): try again in a moment.`)
    default:
  }
  // pg itself reports that the server asks for a password and the URL has none.
  if (message.includes('password must be a')) {
    return failed(`Postgres at ${address} asks for a password for "${user}": add it to DATABASE_URL.`)
  }
  const reason = code ?? message
  return failed(`No Postgres can be reached at ${address} (${reason}): start it, or correct DATABASE_URL.`)
}
