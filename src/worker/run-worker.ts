import { Sweep } from './sweep.ts'
import type { WorkerOptions } from './worker-options.ts'
import { noWorker, WorkerPresence } from './worker-presence.ts'
import { openWorkerSession, type WorkerSession } from './worker-session.ts'

/** Less than the sweeps of other processes take to find the lost session dead. */
const reopenAfterMs = 250

/**
 * Claims runs and drives them as long as the process may. A session is one life of a worker: it holds a lock that
 * proves that the worker is alive. If the connection breaks and the lock is lost, the worker can no longer prove it, so
 * it lets go of all its runs and starts a new session.
 */
export class RunWorker {
  readonly #options: WorkerOptions
  readonly #sweep: Sweep
  /** Set if this process drives no runs itself: watches whether another process does. */
  readonly #others: WorkerPresence | undefined
  #session: WorkerSession | undefined
  #stopped = false
  /** A session is being opened. Never rejects. */
  #opening: Promise<void> = Promise.resolve()

  constructor(options: WorkerOptions) {
    this.#options = options
    const drives = options.about.capacity > 0
    this.#others = drives ? undefined : new WorkerPresence(options.engine.db, options.log)
    this.#sweep = new Sweep(options, { session: () => this.#session, others: this.#others })
    options.engine.work.connect({
      look: () => this.#session?.claims.look() ?? false,
      reservePlace: (runId) => this.#session?.claims.reservePlace(runId),
    })
  }

  async start(): Promise<void> {
    if (this.#stopped) return
    if (!this.#others) {
      const opening = this.#open()
      this.#opening = opening.catch(() => undefined)
      await opening
    }
    this.#sweep.start()
  }

  /** True if this or another process drives runs. Otherwise a text that says what is wrong. */
  async isServed(): Promise<true | string> {
    if (!this.#others) return this.#session ? true : 'the worker has lost its connection to the database'
    return (await this.#others.isServed()) ? true : noWorker
  }

  /**
   * Claims no more runs, gives running steps time to finish, then hands back the rest. May be called twice, and at any
   * time.
   */
  async stop(): Promise<void> {
    if (this.#stopped) return
    this.#stopped = true
    await this.#opening
    await this.#session?.drain(this.#options.drainMs)
    await this.#options.database.breakSilentDuring(this.#sweep.stop())
    this.#options.engine.work.stop()
  }

  async #open(): Promise<void> {
    this.#session = await openWorkerSession(this.#options, () => {
      this.#options.log.warn('the worker lost its lock; letting go of its runs and starting a new session')
      this.#opening = this.#reopen()
    })
    if (!this.#stopped) this.#session.claims.open()
  }

  async #reopen(): Promise<void> {
    const lost = this.#session
    this.#session = undefined
    await lost?.abandon()
    for (let attempt = 1; !this.#stopped; attempt += 1) {
      try {
        // The database may have been away when the session was abandoned. An outage is not the death of a worker: the
        // runs count a death if another process finds this worker's row first.
        await lost?.handOver()
        return await this.#open()
      } catch (error) {
        this.#options.log[attempt === 1 ? 'warn' : 'debug'](
          { err: error },
          'the worker could not start a new session; retrying',
        )
        await new Promise((resolve) => setTimeout(resolve, reopenAfterMs))
      }
    }
  }
}
