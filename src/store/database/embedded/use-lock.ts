import pg from 'pg'

import { errorCode } from '../../../util/start-error.ts'

/**
 * The mark that one process uses the embedded Postgres: a shared advisory lock of a session, which ends with the
 * process, however it ends. A process that leaves tries to get the exclusive lock. Only the last one can get it, and
 * while it holds the lock and stops the server, nobody else can take a shared one. So a newcomer either comes first,
 * and the server keeps running, or finds the lock taken and starts the server again once it has stopped.
 */
export interface UseLock {
  readonly client: pg.Client
  /** Resolves when the server is gone or has ended the session. Never rejects. */
  readonly lost: Promise<void>
  /** True if this was the last user. Then no other process can take such a lock until the server has stopped. */
  leave(): Promise<boolean>
  close(): Promise<void>
}

// 'hold' as a number, and which of our locks it is.
const lock = [0x686f6c64, 1].join()

/** Undefined if the server is starting, stopping or gone. Try again then. */
export async function takeUseLock(url: string): Promise<UseLock | undefined> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'holdpoint embedded',
    connectionTimeoutMillis: 5_000,
  })
  const lost = new Promise<void>((resolve) => client.once('end', resolve))
  // The 'end' event reports the problem. Without a listener here, the process would crash.
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query<{ held: boolean }>(`select pg_try_advisory_lock_shared(${lock}) as held`)
    if (rows[0]?.held !== true) {
      await client.end()
      return undefined
    }
  } catch (error) {
    await client.end().catch(() => {})
    if (isPassing(error)) return undefined
    throw error
  }
  return {
    client,
    lost,
    async leave() {
      try {
        await client.query(`select pg_advisory_unlock_shared(${lock})`)
        const { rows } = await client.query<{ last: boolean }>(`select pg_try_advisory_lock(${lock}) as last`)
        return rows[0]?.last === true
      } catch {
        return false
      }
    },
    close: () => client.end().catch(() => {}),
  }
}

/**
 * Starting up, shutting down, ended by the administrator, out of connections. Errors of pg without a code come from
 * broken sockets.
 */
function isPassing(error: unknown): boolean {
  const code = errorCode(error)
  return code === undefined || ['57P03', '57P01', '53300', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE'].includes(code)
}
