import pg from 'pg'

import { onAbort } from '../../util/abort.ts'
import type { OpenDatabase } from './open-database.ts'
import { endConnection, keepAlive, socketOf } from './connections.ts'

/** How a session is opened, and learns that the database has moved to another server. */
export type SessionSource = Pick<OpenDatabase, 'url' | 'onMoved'>

/** A connection of its own, outside the pool: for LISTEN, or for a lock that shows that this process lives. */
export interface Session {
  readonly client: pg.Client
  /** Ends it on purpose. May be called twice. */
  close(): Promise<void>
}

export interface SessionOptions {
  /** How Postgres shows it in `pg_stat_activity`. */
  readonly name: string
  /** The first statement. The session is open once it is done. */
  readonly begin: string
  onNotification(payload: string): void
  /** Called once, unless the session was closed on purpose or could not be opened. */
  onLost(): void
  /** Breaks off the opening. */
  readonly signal?: AbortSignal
}

const checkMs = 10_000

/**
 * Opens a session. It mostly listens, so it asks the database for a sign of life every ten seconds, and is lost if none
 * comes within another ten.
 */
export async function openSession(source: SessionSource, options: SessionOptions): Promise<Session> {
  const { name, begin, signal } = options
  const client = new pg.Client({
    connectionString: source.url,
    application_name: name,
    connectionTimeoutMillis: 5_000,
    query_timeout: checkMs,
    ...keepAlive,
  })
  let state = 'opening' as 'opening' | 'open' | 'over'
  const end = () => {
    state = 'over'
    clearInterval(timer)
    forgetMoves()
    return endConnection(client)
  }
  const lose = () => {
    const wasOpen = state === 'open'
    if (state !== 'over') void end()
    if (wasOpen) options.onLost()
  }
  const forgetMoves = source.onMoved(lose)
  const timer = setInterval(() => void client.query('select 1').catch(lose), checkMs)
  client.on('error', lose)
  client.on('end', lose)
  client.on('notification', ({ payload }) => {
    if (payload !== undefined && state !== 'over') options.onNotification(payload)
  })
  const stopListening = signal && onAbort(signal, () => socketOf(client)?.destroy())
  try {
    await client.connect()
    await client.query(begin)
    if (state === 'over') throw new Error('The connection was lost while it was opened.')
    state = 'open'
  } catch (error) {
    if (state !== 'over') void end()
    throw error
  } finally {
    stopListening?.()
  }
  return {
    client,
    async close() {
      if (state !== 'over') await end()
    },
  }
}
