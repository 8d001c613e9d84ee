import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'

import type { Log } from '../../util/log.ts'
import { errorCode } from '../../util/start-error.ts'
import { checkSameDatabase, checkServer, describePlace, type Place } from './check-server.ts'
import { keepAlive } from './connections.ts'
import { PatientPool } from './patient-pool.ts'
import { PreparingClient } from './prepared.ts'
import type { Database, Db } from './schema.ts'
import { createSilenceWatch, silenceTimes, type SilenceTimes } from './silence-watch.ts'

export interface OpenDatabase {
  readonly db: Db
  readonly pool: pg.Pool
  /** For sessions outside the pool, such as one that listens: without the pooler, if there is one. */
  readonly url: string
  /** The listener is called when the database has moved to another server. Returns how to remove it. */
  onMoved(listener: () => void): () => void
  /** For what ends: until it has, breaks connections that have waited for an answer for a while. */
  breakSilentDuring<Result>(work: Promise<Result>): Promise<Result>
  /** May be called twice. */
  close(): Promise<void>
}

export interface OpenOptions {
  readonly log: Log
  readonly poolSize?: number
  /** Which setting the URL is. */
  readonly setting?: Place['setting']
  /**
   * The same database without a connection pooler. If it is given, the URL may lead to a pooler in transaction mode,
   * which keeps no prepared statements and no settings of a connection.
   */
  readonly direct?: Pick<OpenDatabase, 'url' | 'pool'>
  /** A statement that takes longer than this is logged. */
  readonly slowMs?: number
  readonly silence?: SilenceTimes
}

/** Opens a pool and checks that the server can be used. Throws a StartError that describes the problem in one line. */
export async function openDatabase(
  url: string,
  { log, poolSize = 20, setting = 'DATABASE_URL', direct, slowMs = 1_000, silence = silenceTimes }: OpenOptions,
): Promise<OpenDatabase> {
  const watch = createSilenceWatch(url, { log, times: silence })
  const options = {
    connectionString: url,
    max: poolSize,
    application_name: 'holdpoint',
    connectionTimeoutMillis: 10_000,
    // A new connection plans every prepared statement again, so connections outlive the pauses of a normal load.
    idleTimeoutMillis: 5 * 60_000,
    onConnect: watch.onConnect,
    ...keepAlive,
    types: { getTypeParser },
    // No transaction stays open on purpose. One that does is stuck, and keeps its locks.
    ...(direct ? {} : { idle_in_transaction_session_timeout: 60_000, Client: PreparingClient }),
  }
  const pool = new PatientPool(options, log)
  let closing: Promise<void> | undefined
  // The pool replaces an idle connection that breaks, but without a listener the process would end. A connection in use
  // may break between two statements; then the next statement fails.
  pool.on('error', (error) => {
    if (closing === undefined)
      log.warn({ code: errorCode(error), reason: error.message }, 'a database connection was lost')
  })
  pool.on('connect', (client) => client.on('error', () => {}))
  watch.watch(pool)
  try {
    await checkServer(pool, describePlace(url, setting), { needsSessions: !direct })
    if (direct) await checkSameDatabase(pool, direct.pool)
  } catch (error) {
    await pool.end()
    watch.stop()
    throw error
  }
  const db = new Kysely<Database>({
    dialect: new PostgresDialect({ pool }),
    log({ query, queryDurationMillis }) {
      if (queryDurationMillis < slowMs) return
      // Without the values, which may be secret.
      const sql = query.sql.replaceAll(/\s+/g, ' ').slice(0, 1_000)
      log.warn({ durationMs: Math.round(queryDurationMillis), sql }, 'a slow query')
    },
  })
  const close = async () => {
    await db.destroy()
    // Kysely leaves the pool open if it has never used it.
    if (!pool.ended) await pool.end()
    watch.stop()
  }
  const { onMoved, breakSilentDuring } = watch
  return {
    db,
    pool,
    url: direct?.url ?? url,
    onMoved,
    breakSilentDuring,
    close: () => (closing ??= breakSilentDuring(close())),
  }
}

/** More rows than fit in the probe's memory, so that Postgres writes them to a temporary file. */
const probe = `set local work_mem = '64kB';
  select current_setting('transaction_read_only') = 'on' as read_only, count(*) from generate_series(1, 20000)`

/**
 * Checks that the database can be written to: it answers, is not read-only, and has disk space. Otherwise throws
 * Postgres's error. The probe writes a temporary file rather than a row, so it leaves no dead rows and no WAL behind.
 */
export async function isWritable(pool: pg.Pool): Promise<boolean> {
  // Several statements in one query run as one transaction and return one result each.
  const results = (await pool.query(probe)) as unknown as [unknown, pg.QueryResult<{ read_only: boolean }>]
  return results[1].rows[0]?.read_only === false
}

/** Counts and sums become numbers. A value that does not fit in a number is an error. */
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
