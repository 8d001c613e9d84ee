import { openNotifications, payloadLimit } from '../store/database/notifications.ts'
import type { SessionSource } from '../store/database/session.ts'
import type { Log } from '../util/log.ts'
import type { Bus, BusReceiver } from './bus.ts'
import { KeptConnection } from './kept-connection.ts'

const everyone = 'holdpoint'

/** A bus over LISTEN and NOTIFY, on one connection. */
export function createPostgresBus({
  database,
  address,
  log,
}: {
  readonly database: SessionSource
  readonly address: string
  readonly log: Log
}): Bus {
  const channelOf = (to: string | undefined) => (to === undefined ? everyone : `${everyone} ${to}`)
  let receiver: BusReceiver | undefined
  const connection = new KeptConnection({
    open: (onLost, signal) =>
      openNotifications(database, [everyone, channelOf(address)], {
        onNotification: (payload) => receiver?.receive(payload),
        onLost,
        signal,
      }),
    onOpened: () => receiver?.connected(),
    log,
  })

  return {
    address,
    payloadLimit,
    isConnected: () => connection.current !== undefined,
    async open(opened) {
      receiver = opened
      await connection.open()
    },
    async send(packets) {
      if (!connection.current) throw new Error('There is no connection to Postgres.')
      await connection.current.notify(packets.map(({ to, payload }) => ({ channel: channelOf(to), payload })))
    },
    close: () => connection.close(),
  }
}
