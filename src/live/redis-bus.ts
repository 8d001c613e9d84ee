import { onAbort } from '../util/abort.ts'
import { errorMessage } from '../util/error-message.ts'
import { loadOptional, MissingPackageError } from '../util/optional-package.ts'
import { StartError } from '../util/start-error.ts'
import { KeptBus, type BusConnection, type BusHandlers, type KeptBusOptions } from './kept-bus.ts'

/** Redis has no such limit. Shorter payloads don't delay the others. */
const payloadLimit = 32_000
/** A connection may be dead without either end knowing, so an answer must come in this time. */
const checkMs = 5_000

/** What is used of the package's client. */
interface Client {
  connect(): Promise<unknown>
  subscribe(channels: string[], listener: (payload: string) => void): Promise<void>
  publish(channel: string, payload: string): Promise<number>
  ping(): Promise<string>
  on(event: 'connect' | 'error', listener: (error: Error) => void): unknown
  destroy(): void
}

/**
 * A bus over PUBLISH and SUBSCRIBE on one connection. Redis keeps nothing: it is needed only for text that is being
 * written. `scope` separates installations that share one Redis.
 */
export async function createRedisBus({
  redisUrl,
  scope,
  ...options
}: Pick<KeptBusOptions, 'address' | 'log'> & { readonly redisUrl: string; readonly scope: string }): Promise<KeptBus> {
  const createClient = await prepareClients(redisUrl)
  return new KeptBus({
    ...options,
    payloadLimit,
    channelOf: (to) => `holdpoint ${scope} ${to ?? 'all'}`,
    connect: (channels, handlers) => openConnection(createClient(), channels, handlers),
  })
}

/** Loads the package only if it is needed. Throws a StartError if it is not installed or the address cannot be used. */
async function prepareClients(url: string): Promise<() => Client> {
  try {
    const { createClient } = await loadOptional('redis', () => import('redis'))
    const create = () =>
      createClient({
        url,
        name: 'holdpoint-bus',
        socket: { connectTimeout: checkMs, reconnectStrategy: false },
        disableOfflineQueue: true,
        maintNotifications: 'disabled',
      })
    // The address is read here.
    create()
    return create
  } catch (error) {
    const remedy = error instanceof MissingPackageError ? ', or unset REDIS_URL and Postgres does it.' : ''
    throw new StartError(`REDIS_URL cannot be used: ${errorMessage(error)}${remedy}`, { cause: error })
  }
}

async function openConnection(
  client: Client,
  channels: string[],
  { signal, ...handlers }: BusHandlers,
): Promise<BusConnection> {
  let state: 'opening' | 'open' | 'over' = 'opening'
  let failure: Error | undefined
  // Opening it must be answered in time too.
  let isWaiting = true
  const end = () => {
    clearInterval(timer)
    state = 'over'
    client.destroy()
  }
  const lose = (error: Error) => {
    const was = state
    if (was === 'over') return
    failure = error
    end()
    if (was === 'open') handlers.onLost(error)
  }
  const timer = setInterval(() => {
    if (isWaiting) return lose(new Error('Redis does not answer.'))
    isWaiting = true
    client.ping().then(() => (isWaiting = false), lose)
  }, checkMs)
  client.on('error', lose)
  // A client that is destroyed before its socket is open would open it nevertheless.
  client.on('connect', () => state === 'over' && client.destroy())
  const stopListening = onAbort(signal, lose)
  try {
    await client.connect()
    await client.subscribe(channels, (payload) => {
      if (state !== 'over' && payload !== '') handlers.onPayload(payload)
    })
    // An account may have the right to subscribe and not the right to publish. Nobody takes notice of an empty payload.
    await Promise.all(channels.map((channel) => client.publish(channel, '')))
    if (failure) throw failure
  } catch (error) {
    if (!failure) end()
    throw failure ?? error
  } finally {
    stopListening()
  }
  isWaiting = false
  state = 'open'
  return {
    async send(packets) {
      try {
        // Written together, because they are queued in the same tick.
        await Promise.all(packets.map(({ channel, payload }) => client.publish(channel, payload)))
      } catch (error) {
        lose(error as Error)
        throw error
      }
    },
    async close() {
      if (state !== 'over') end()
    },
  }
}
