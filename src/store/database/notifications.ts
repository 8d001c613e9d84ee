import pg from 'pg'

import { openSession, type SessionOptions, type SessionSource } from './session.ts'

/**
 * Sends short texts to other processes through Postgres. Nothing is kept: a process that is not listening at the moment
 * misses them, and a broken connection just stops. So anyone who relies on this must also be able to find out without
 * it.
 */
export interface Notifications {
  /** Sent in one transaction. Payloads must differ, because Postgres delivers only one of several equal ones. */
  notify(packets: readonly Packet[]): Promise<void>
  close(): Promise<void>
}

interface Packet {
  readonly channel: string
  readonly payload: string
}

/** A payload must be shorter than this, in bytes. */
export const payloadLimit = 8_000

/** Opens a connection that listens to channels, and sends to any. */
export async function openNotifications(
  database: SessionSource,
  channels: readonly string[],
  handlers: Pick<SessionOptions, 'onNotification' | 'onLost' | 'signal'>,
): Promise<Notifications> {
  const listens = channels.map((channel) => `listen ${pg.escapeIdentifier(channel)}`)
  const { client, close } = await openSession(database, {
    name: 'holdpoint bus',
    // A notification may be lost anyway, so there is no reason to wait for the disk.
    begin: ['set synchronous_commit = off', ...listens].join('; '),
    ...handlers,
  })
  return {
    async notify(packets) {
      await client.query({
        name: 'notify',
        text: 'select pg_notify(channel, payload) from unnest($1::text[], $2::text[]) as packets(channel, payload)',
        values: [packets.map(({ channel }) => channel), packets.map(({ payload }) => payload)],
      })
    },
    close,
  }
}
