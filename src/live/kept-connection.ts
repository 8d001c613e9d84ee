import type { Log } from '../util/log.ts'

const retryMs = { first: 100, most: 2_000 } as const

export interface KeptConnectionOptions<Opened> {
  /** Calls `onLost` once if the connection breaks later, and rejects if it cannot be opened. */
  open(onLost: (error?: Error) => void): Promise<Opened>
  onOpened(): void
  readonly log: Log
}

/**
 * A connection to the bus that is opened again whenever it is lost. The log has one line when that happens and one when
 * the connection is back, however many attempts lie in between.
 */
export class KeptConnection<Opened extends { close(): Promise<void> }> {
  readonly #options: KeptConnectionOptions<Opened>
  #current: Opened | undefined
  #retry: NodeJS.Timeout | undefined
  #closed = false
  #isReported = false

  constructor(options: KeptConnectionOptions<Opened>) {
    this.#options = options
  }

  /** Undefined while the connection is lost. */
  get current(): Opened | undefined {
    return this.#current
  }

  /** Resolves after the first attempt. */
  open(): Promise<void> {
    return this.#connect(retryMs.first)
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#retry)
    await this.#current?.close()
    this.#current = undefined
  }

  async #connect(delayMs: number): Promise<void> {
    const { open, onOpened, log } = this.#options
    try {
      const opened = await open((error) => {
        this.#current = undefined
        this.#report(error, 'lost the connection to other processes; reconnecting')
        this.#connectLater(retryMs.first)
      })
      if (this.#closed) return await opened.close()
      this.#current = opened
      if (this.#isReported) log.info('connected to other processes again')
      this.#isReported = false
      onOpened()
    } catch (error) {
      if (this.#closed) return
      this.#report(error as Error, 'cannot connect to other processes; retrying')
      this.#connectLater(delayMs)
    }
  }

  #connectLater(delayMs: number): void {
    if (this.#closed) return
    this.#retry = setTimeout(() => void this.#connect(Math.min(delayMs * 2, retryMs.most)), delayMs)
  }

  #report(error: Error | undefined, line: string): void {
    if (this.#closed || this.#isReported) return
    this.#isReported = true
    this.#options.log.warn({ err: error }, line)
  }
}
