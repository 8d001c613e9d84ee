import type { Log } from '../util/log.ts'
import { errorCode } from '../util/start-error.ts'

const retryMs = { first: 100, most: 1_000 } as const

export interface KeptConnectionOptions<Opened> {
  /**
   * Calls `onLost` once if the connection breaks later. Rejects if it cannot be opened, or once `signal` is aborted.
   */
  open(onLost: (error?: Error) => void, signal: AbortSignal): Promise<Opened>
  onOpened(): void
  readonly log: Log
}

/**
 * A connection to the bus that is opened again whenever it is lost. The log has one line when that happens, one for
 * each new reason why it cannot be opened, and one when it is back, however many attempts lie in between.
 */
export class KeptConnection<Opened extends { close(): Promise<void> }> {
  readonly #options: KeptConnectionOptions<Opened>
  #current: Opened | undefined
  #retry: NodeJS.Timeout | undefined
  /** The attempt in progress, or the last one. */
  #connecting: Promise<void> | undefined
  readonly #closing = new AbortController()
  /** Why the connection was lost or could not be opened, since it was last open. */
  readonly #reported = new Set<string>()

  constructor(options: KeptConnectionOptions<Opened>) {
    this.#options = options
  }

  /** Undefined while the connection is lost. */
  get current(): Opened | undefined {
    return this.#current
  }

  /** Resolves after the first attempt. */
  open(): Promise<void> {
    return (this.#connecting = this.#connect(retryMs.first))
  }

  async close(): Promise<void> {
    this.#closing.abort()
    clearTimeout(this.#retry)
    await this.#connecting
    await this.#current?.close()
    this.#current = undefined
  }

  async #connect(delayMs: number): Promise<void> {
    const { open, onOpened, log } = this.#options
    try {
      const onLost = (error?: Error) => {
        this.#current = undefined
        this.#report(error, 'lost the connection to other processes; reconnecting')
        this.#connectLater(retryMs.first)
      }
      const opened = await open(onLost, this.#closing.signal)
      if (this.#closing.signal.aborted) return await opened.close()
      this.#current = opened
      if (this.#reported.size > 0) log.info('connected to other processes again')
      this.#reported.clear()
      onOpened()
    } catch (error) {
      if (this.#closing.signal.aborted) return
      this.#report(error as Error, 'cannot connect to other processes; retrying')
      this.#connectLater(delayMs)
    }
  }

  #connectLater(delayMs: number): void {
    if (this.#closing.signal.aborted) return
    this.#retry = setTimeout(() => {
      this.#connecting = this.#connect(Math.min(delayMs * 2, retryMs.most))
    }, delayMs)
  }

  #report(error: Error | undefined, line: string): void {
    const reason = errorCode(error) ?? error?.message ?? 'lost'
    if (this.#closing.signal.aborted || this.#reported.has(reason)) return
    this.#reported.add(reason)
    this.#options.log.warn({ err: error }, line)
  }
}
