import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'

import type { Log } from '../util/log.ts'
import { StartError, errorCode } from '../util/start-error.ts'
import type { Database } from './schema.ts'
import { errorMessage } from '../util/error-message.ts'

export interface OpenDatabase {
  readonly db: Kysely<Database>
  readonly pool: pg.Pool
  /** For connections that are not the pool's to lend, such as one that listens. */
  readonly url: string
  /** May be called twice. */
  close(): Promise<void>
}

const oldestVersion = 14

/** Opens a pool and sees that what answers is a database we can work on; what is wrong is said in one line. */
export async function openDatabase(
  url: string,
  { log, poolSize = 20 }: { log: Log; poolSize?: number },
): Promise<OpenDatabase> {
  const place = describePlace(url)
  const pool = new pg.Pool({
    connectionString: url,
    max: poolSize,
    application_name: 'holdpoint',
    connectionTimeoutMillis: 10_000,
    // A transaction is never left open on purpose: whoever holds one this long is stuck, and holds its locks.
    idle_in_transaction_session_timeout: 60_000,
    keepAlive: true,
    types: { getTypeParser },
  })
  let closing: Promise<void> | undefined
  // An idle connection that breaks is replaced by the pool; without a listener it would end the process. One that is
  // lent out may break between two statements: the next statement says so to its borrower.
  pool.on('error', (error) => {
    if (closing === undefined)
      log.warn({ code: errorCode(error), reason: error.message }, 'a database connection was lost')
  })
  pool.on('connect', (client) => client.on('error', () => {}))
  try {
    await checkServer(pool, place)
  } catch (error) {
    await pool.end()
    throw error instanceof StartError ? error : explain(error, place)
  }
  const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) })
  return { db, pool, url, close: () => (closing ??= db.destroy()) }
}

/** Whether the database can be worked on now. */
export async function answers(db: Kysely<Database>): Promise<boolean> {
  const { rows } = await sql`select 1`.execute(db)
  return rows.length === 1
}

async function checkServer(pool: pg.Pool, place: Place): Promise<void> {
  const { rows } = await pool.query<{ number: string; version: string; standby: boolean }>(
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

interface Place {
  readonly address: string
  readonly user: string
  readonly database: string
}

/** As pg understands the address, without its password. */
function describePlace(url: string): Place {
  const { host, port, user, database } = new pg.Client({ connectionString: url })
  return { address: host.startsWith('/') ? host : `${host}:${port}`, user: user ?? '', database: database ?? '' }
}

function explain(error: unknown, { address, user, database }: Place): StartError {
  const code = errorCode(error)
  const message = errorMessage(error)
  const told = (line: string) => new StartError(line, { cause: error })
  switch (code) {
    case '28P01':
    case '28000':
      return told(
        `Postgres at ${address} does not let "${user}" in (${message}): correct the user or the password in DATABASE_URL.`,
      )
    case '3D000':
      return told(
        `Postgres at ${address} has no database "${database}": create it, or correct the name in DATABASE_URL.`,
      )
    case '42501':
      return told(
        `Postgres at ${address} does not let "${user}" use the database "${database}" (${message}): grant it, or correct DATABASE_URL.`,
      )
    case '53300':
      return told(
        `Postgres at ${address} has no connection left (${message}): raise its max_connections, or close other clients.`,
      )
    case '57P03':
      return told(`Postgres at ${address} is not ready (${message}): try again in a moment.`)
    default:
  }
  // pg finds out by itself that the server wants a password and there is none to give.
  if (message.includes('password must be a')) {
    return told(`Postgres at ${address} wants a password for "${user}": put it into DATABASE_URL.`)
  }
  const reason = code ?? message
  return told(`No Postgres can be reached at ${address} (${reason}): start it, or correct DATABASE_URL.`)
}

/** Counts and sums are numbers; one that a number cannot hold is an error rather than another number. */
function parseInt8(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} is too large for a number`)
  return value
}

function getTypeParser(
  ...[oid, format]: Parameters<typeof pg.types.getTypeParser>
): ReturnType<typeof pg.types.getTypeParser> {
  return oid === pg.types.builtins.INT8 && format !== 'binary' ? parseInt8 : pg.types.getTypeParser(oid, format)
}
