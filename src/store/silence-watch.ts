import pg from 'pg'

import type { Log } from '../util/log.ts'
import { endConnection, keepAlive, socketOf } from './database/connections.ts'

export interface SilenceTimes {
  /** How often connections in use are looked at. One that received nothing between three looks is in doubt. */
  readonly lookMs: number
  /** How long the database may take to answer on a new connection. */
  readonly answerMs: number
}

export const silenceTimes: SilenceTimes = { lookMs: 5_000, answerMs: 5_000 }

const quietLooks = 2

/**
 * Notices that the network lost the database without a word: packets are dropped, and no end is told. Statements would
 * then wait for their answers until the operating system gives up, which takes a quarter of an hour.
 *
 * A statement that takes long looks the same from here. So before a connection is broken, a new one is opened: if the
 * database answers on it, the statement goes on, however long it takes. Call the returned function to stop. A statement
 * whose connection is broken fails as in any other outage. It may have been executed, or may be executed later, when
 * its packets arrive after all.
 */
export function watchForSilence(
  pool: pg.Pool,
  { url, log, times }: { readonly url: string; readonly log: Log; readonly times: SilenceTimes },
): () => void {
  /** The connections in use, with what they had received at the last look, and how many looks have found no more. */
  const used = new Map<pg.PoolClient, { received: number; quiet: number }>()
  const receivedBy = (client: pg.PoolClient) => socketOf(client)?.bytesRead ?? 0
  let isAsking = false

  pool.on('acquire', (client) => used.set(client, { received: receivedBy(client), quiet: 0 }))
  pool.on('release', (_error, client) => used.delete(client))
  pool.on('remove', (client) => used.delete(client))

  function look(): void {
    for (const [client, state] of used) {
      const received = receivedBy(client)
      state.quiet = received === state.received ? state.quiet + 1 : 0
      state.received = received
    }
    const isQuiet = [...used.values()].some(({ quiet }) => quiet >= quietLooks)
    if (!isQuiet || isAsking) return
    isAsking = true
    void answers(url, times.answerMs)
      .then((hasAnswered) => settle(hasAnswered))
      .finally(() => (isAsking = false))
  }

  function settle(hasAnswered: boolean): void {
    const quiet = [...used].filter(
      ([client, state]) => state.quiet >= quietLooks && state.received === receivedBy(client),
    )
    if (hasAnswered) {
      for (const [, state] of quiet) state.quiet = 0
      return
    }
    if (quiet.length > 0) log.warn({ connections: quiet.length }, 'the database does not answer; breaking connections')
    for (const [client] of quiet)
      socketOf(client)?.destroy(Object.assign(new Error('The database does not answer.'), { code: 'ETIMEDOUT' }))
  }

  const timer = setInterval(look, times.lookMs)
  timer.unref()
  return () => clearInterval(timer)
}

/** Whether the database answers on a new connection. A refusal by the database is an answer too. */
async function answers(url: string, withinMs: number): Promise<boolean> {
  const client = new pg.Client({ ...keepAlive, connectionString: url, application_name: 'holdpoint check' })
  client.on('error', () => {})
  const timer = setTimeout(() => socketOf(client)?.destroy(), withinMs)
  try {
    await client.connect()
    await client.query('select 1')
    return true
  } catch (error) {
    return error instanceof pg.DatabaseError
  } finally {
    clearTimeout(timer)
    void endConnection(client)
  }
}
