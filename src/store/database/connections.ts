import type { Socket } from 'node:net'

import type pg from 'pg'

/**
 * Settings of every connection. The operating system asks the other end for a sign of life, so that a connection whose
 * other end is gone breaks, and one that is unused for long is not forgotten by a router on the way.
 */
export const keepAlive = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 } as const

/** Undefined if the connection was never opened. */
export function socketOf(client: pg.Client | pg.PoolClient): Socket | undefined {
  return client.connection.stream as Socket | undefined
}

/** How long to wait for the other end to close a connection too. */
const goodbyeMs = 2_000

/** Closes a connection, also if nothing reaches the other end. Never throws. */
export async function endConnection(client: pg.Client): Promise<void> {
  const timer = setTimeout(() => socketOf(client)?.destroy(), goodbyeMs)
  await client.end().catch(() => undefined)
  clearTimeout(timer)
}
