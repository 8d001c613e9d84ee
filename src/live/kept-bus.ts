import type { Log } from '../util/log.ts'
import { errorCode } from '../util/start-error.ts'
import type { Bus, BusReceiver, Packet } from './bus.ts'

const retryMs = { first: 100, most: 1_000 } as const

/** One connection to what carries the packets of a bus. */
export interface BusConnection {
  send(packets: readonly { readonly channel: string; readonly payload: string }[]): Promise<void>
  close(): Promise<void>
}

export interface BusHandlers {
  onPayload(payload: string): void
  /** Called once if the connection breaks after it was opened. */
  onLost(error?: Error): void
  /** Aborting it breaks off the opening, which then rejects. */
  readonly signal: AbortSignal
}

export interface KeptBusOptions {
  readonly address: string
  readonly payloadLimit: number
  /** The channel of one process, or of all if `to` is undefined. */
  readonly channelOf: (to: string | undefined) => string
  /** Opens a connection that hears the channels. */
  readonly connect: (channels: string[], handlers: BusHandlers) => Promise<BusConnection>
  readonly log: Log
}

/**
 * A bus on a connection that is opened again whenever it is lost. The log has one line when that happens, one for each
 * new reason why it cannot be opened, and one when it is back, however many attempts lie in between.
 */
export class KeptBus implements Bus {
  readonly address: string
  readonly payloadLimit: number
  readonly #options: KeptBusOptions
  #receiver: BusReceiver | undefined
  /** Undefined while the connection is lost. */
  #connection: BusConnection | undefined
  #retry: NodeJS.Timeout | undefined
  /** The attempt in progress, or the last one. */
  #connecting: Promise<void> | undefined
  readonly #closing = new AbortController()
  /** Why the connection was lost or could not be opened, since it was last open. */
  readonly #reported = new Set<string>()

  constructor(options: KeptBusOptions) {
    this.address = options.address
    this.payloadLimit = options.payloadLimit
    this.#options = options
  }

  isConnected(): boolean {
    return this.#connection !== undefined
  }

  open(receiver: BusReceiver): Promise<void> {
    this.#receiver = receiver
    return (this.#connecting = this.#connect(retryMs.first))
  }

  async send(packets: readonly Packet[]): Promise<void> {
    if (!this.#connection) throw new Error('There is no connection to other processes.')
    await this.#connection.send(packets.map(({ to, payload }) => ({ channel: this.#options.channelOf(to), payload })))
  }

  async close(): Promise<void> {
    this.#closing.abort()
    clearTimeout(this.#retry)
    await this.#connecting
    await this.#connection?.close()
    this.#connection = undefined
  }

  async #connect(delayMs: number): Promise<void> {
    const { connect, channelOf, log } = this.#options
    const { signal } = this.#closing
    try {
      const opened = await connect([channelOf(undefined), channelOf(this.address)], {
        signal,
        onPayload: (payload) => this.#receiver?.receive(payload),
        onLost: (error) => {
          this.#connection = undefined
          this.#report(error, 'lost the connection to other processes; reconnecting')
          this.#connectLater(retryMs.first)
        },
      })
      if (signal.aborted) return await opened.close()
      this.#connection = opened
      if (this.#reported.size > 0) log.info('connected to other processes again')
      this.#reported.clear()
      this.#receiver?.connected()
    } catch (error) {
      if (signal.aborted) return
      this.#report(error, 'cannot connect to other processes; retrying')
      this.#connectLater(delayMs)
    }
  }

  #connectLater(delayMs: number): void {
    if (this.#closing.signal.aborted) return
    this.#retry = setTimeout(() => {
      this.#connecting = this.#connect(Math.min(delayMs * 2, retryMs.most))
    }, delayMs)
  }

  #report(error: unknown, line: string): void {
    const reason = errorCode(error) ?? (error instanceof Error ? error.message : 'lost')
    if (this.#closing.signal.aborted || this.#reported.has(reason)) return
    this.#reported.add(reason)
    this.#options.log.warn({ err: error }, line)
  }
}
