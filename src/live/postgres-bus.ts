import { openNotifications, payloadLimit } from '../store/database/notifications.ts'
import type { SessionSource } from '../store/database/session.ts'
import { KeptBus, type KeptBusOptions } from './kept-bus.ts'

const everyone = 'holdpoint'

/** A bus over LISTEN and NOTIFY, on one connection. */
export function createPostgresBus({
  database,
  ...options
}: Pick<KeptBusOptions, 'address' | 'log'> & { readonly database: SessionSource }): KeptBus {
  return new KeptBus({
    ...options,
    payloadLimit,
    channelOf: (to) => (to === undefined ? everyone : `${everyone} ${to}`),
    async connect(channels, { onPayload, ...handlers }) {
      const { notify, close } = await openNotifications(database, channels, { onNotification: onPayload, ...handlers })
      return { send: notify, close }
    },
  })
}
