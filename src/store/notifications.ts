import pg from 'pg'

import { checkConnection, endConnection, keepAlive } from './database/connections.ts'

/**
 * Sends short texts to other processes through Postgres. Nothing is kept: a process that is not listening at the moment
 * misses them, and a broken connection just stops. So anyone who relies on this must also be able to find out without
 * it.
 */
export interface Notifier {
  /** Sent in one transaction. Payloads must differ, because Postgres delivers only one of several equal ones. */
  notify(packets: readonly Packet[]): Promise<void>
  close(): Promise<void>
}

interface Packet {
  readonly channel: string
  readonly payload: string
}

const connection = {
  application_name: 'holdpoint bus',
  connectionTimeoutMillis: 5_000,
  query_timeout: 5_000,
  ...keepAlive,
}

/**
 * Opens a connection that listens, and can send too. `onLost` is called once, unless the connection was closed on
 * purpose or could not be opened.
 */
export async function openListener(
  databaseUrl: string,
  channels: readonly string[],
  handlers: { onPayload(payload: string): void; onLost(): void },
): Promise<Notifier> {
  const client = new pg.Client({ ...connection, connectionString: databaseUrl })
  let opened = false
  let over = false as boolean
  const end = () => {
    if (over) return false
    over = true
    stopChecking()
    return true
  }
  const lose = () => {
    if (!end()) return
    void endConnection(client)
    if (opened) handlers.onLost()
  }
  const stopChecking = checkConnection(client)
  client.on('error', lose)
  client.on('end', lose)
  client.on('notification', ({ payload }) => {
    if (payload !== undefined && !over) handlers.onPayload(payload)
  })
  try {
    await client.connect()
    await client.query(channels.map((channel) => `listen ${pg.escapeIdentifier(channel)}`).join('; '))
    if (over) throw new Error('The connection was lost while it was opened.')
    opened = true
  } catch (error) {
    end()
    void endConnection(client)
    throw error
  }
  return {
    notify: (packets) => notify(client, packets),
    async close() {
      if (end()) await endConnection(client)
    },
  }
}

/** A payload must be shorter than this, in bytes. */
export const payloadLimit = 8_000

/** A connection that is unused for this long is closed. */
const idleMs = 30_000

/** A dedicated connection, opened when it is needed and closed when it is no longer used. */
export function createNotifier(databaseUrl: string): Notifier {
  let opening: Promise<pg.Client> | undefined
  let idle: NodeJS.Timeout | undefined

  function open(): Promise<pg.Client> {
    const client = new pg.Client({ ...connection, connectionString: databaseUrl })
    const opened = prepare(client)
    // Closing may take long, and another connection may have taken its place by then.
    const forget = () => {
      if (opening === opened) opening = undefined
    }
    client.on('error', forget)
    client.on('end', forget)
    return opened
  }

  async function close(): Promise<void> {
    clearTimeout(idle)
    const client = await opening?.catch(() => undefined)
    opening = undefined
    if (client) await endConnection(client)
  }

  return {
    close,
    async notify(packets) {
      clearTimeout(idle)
      opening ??= open()
      const current = opening
      try {
        await notify(await current, packets)
      } catch (error) {
        if (opening === current) opening = undefined
        current.then(endConnection).catch(() => {})
        throw error
      }
      idle = setTimeout(() => void close(), idleMs)
      idle.unref()
    },
  }
}

async function prepare(client: pg.Client): Promise<pg.Client> {
  try {
    await client.connect()
    // A notification may be lost anyway, so there is no reason to wait for the disk.
    await client.query('set synchronous_commit = off')
    return client
  } catch (error) {
    void endConnection(client)
    throw error
  }
}

async function notify(client: pg.Client, packets: readonly Packet[]): Promise<void> {
  const channels = packets.map(({ channel }) => channel)
  const payloads = packets.map(({ payload }) => payload)
  await client.query({
    name: 'notify',
    text: 'select pg_notify(channel, payload) from unnest($1::text[], $2::text[]) as packets(channel, payload)',
    values: [channels, payloads],
  })
}
