import { Sweep } from './sweep.ts'
import type { WorkerOptions } from './worker-options.ts'
import { openSession, type WorkerSession } from './worker-session.ts'

const reopenAfterMs = 1_000

/**
 * Takes runs from the queue and drives them, for as long as the process may. A session is one worker's life: it holds
 * a lock that says that it lives. Where the lock is lost (the connection broke), nobody knows any longer that this
 * worker lives, so it lets go of all its runs and begins a new life.
 */
export class RunWorker {
  readonly #options: WorkerOptions
  readonly #sweep: Sweep
  #session: WorkerSession | undefined
  #stopped = false
  #reopening: Promise<void> = Promise.resolve()

  constructor(options: WorkerOptions) {
    this.#options = options
    this.#sweep = new Sweep(options, () => this.#session)
  }

  async start(): Promise<void> {
    if (this.#options.concurrency > 0) await this.#open()
    this.#sweep.start()
  }

  /** Takes no new runs, lets running steps finish for a while, hands back the rest. May be called twice. */
  async stop(): Promise<void> {
    if (this.#stopped) return
    this.#stopped = true
    await this.#reopening
    await this.#session?.drain(this.#options.drainMs)
    await this.#sweep.stop()
  }

  async #open(): Promise<void> {
    this.#session = await openSession(this.#options, () => {
      this.#options.log.warn('the worker lost its lock: it lets go of its runs and starts afresh')
      this.#reopening = this.#reopen()
    })
  }

  async #reopen(): Promise<void> {
    await this.#session?.abandon()
    this.#session = undefined
    while (!this.#stopped) {
      try {
        return await this.#open()
      } catch (error) {
        this.#options.log.warn({ err: error }, 'the worker cannot start afresh yet; trying again')
        await new Promise((resolve) => setTimeout(resolve, reopenAfterMs))
      }
    }
  }
}
