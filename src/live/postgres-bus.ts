import { createNotifier, openListener, payloadLimit } from '../store/notifications.ts'
import type { Log } from '../util/log.ts'
import type { Bus, BusReceiver } from './bus.ts'
import { KeptConnection } from './kept-connection.ts'

const everyone = 'holdpoint'

/**
 * A bus over LISTEN and NOTIFY, with one connection for each. A process that is alone sends once, when it is connected.
 * It does so over the connection that listens, and never opens the other.
 */
export function createPostgresBus({
  databaseUrl,
  address,
  log,
}: {
  readonly databaseUrl: string
  readonly address: string
  readonly log: Log
}): Bus {
  const notifier = createNotifier(databaseUrl)
  const channelOf = (to: string | undefined) => (to === undefined ? everyone : `${everyone} ${to}`)
  let receiver: BusReceiver | undefined
  let hasSent = false
  const listener = new KeptConnection({
    open: (onLost) =>
      openListener(databaseUrl, [everyone, channelOf(address)], {
        onPayload: (payload) => receiver?.receive(payload),
        onLost,
      }),
    onOpened: () => {
      hasSent = false
      receiver?.connected()
    },
    log,
  })

  return {
    address,
    payloadLimit,
    isConnected: () => listener.current !== undefined,
    async open(opened) {
      receiver = opened
      await listener.open()
    },
    send(packets) {
      const sender = hasSent ? notifier : (listener.current ?? notifier)
      hasSent = true
      return sender.notify(packets.map(({ to, payload }) => ({ channel: channelOf(to), payload })))
    },
    async close() {
      await listener.close()
      await notifier.close()
    },
  }
}
