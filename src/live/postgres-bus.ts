import { createNotifier, openListener, payloadLimit, type Listener } from '../store/notifications.ts'
import type { Log } from '../util/log.ts'
import type { Bus, BusReceiver } from './bus.ts'

const everyone = 'holdpoint'
const reconnectMs = { first: 100, most: 2_000 } as const

/**
 * A bus over LISTEN and NOTIFY, with one connection for each. The NOTIFY connection is opened when it is first needed.
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
  let listener: Listener | undefined
  let retry: NodeJS.Timeout | undefined
  let closed = false

  async function connect(receiver: BusReceiver, delayMs: number): Promise<void> {
    try {
      const opened = await openListener(databaseUrl, [everyone, channelOf(address)], {
        onPayload: (payload) => receiver.receive(payload),
        onLost() {
          log.warn('lost the connection that listens to other processes; reconnecting')
          connectLater(receiver, reconnectMs.first)
        },
      })
      if (closed) return await opened.close()
      listener = opened
      receiver.connected()
    } catch (error) {
      if (closed) return
      log.warn({ err: error }, 'cannot connect to listen to other processes; retrying')
      connectLater(receiver, delayMs)
    }
  }

  function connectLater(receiver: BusReceiver, delayMs: number): void {
    if (closed) return
    retry = setTimeout(() => void connect(receiver, Math.min(delayMs * 2, reconnectMs.most)), delayMs)
  }

  return {
    address,
    payloadLimit,
    open: (receiver) => connect(receiver, reconnectMs.first),
    send: (packets) => notifier.notify(packets.map(({ to, payload }) => ({ channel: channelOf(to), payload }))),
    async close() {
      closed = true
      clearTimeout(retry)
      await listener?.close()
      await notifier.close()
    },
  }
}
