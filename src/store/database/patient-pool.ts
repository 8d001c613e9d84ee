import { setTimeout as sleep } from 'node:timers/promises'

import pg from 'pg'

import type { Log } from '../../util/log.ts'
import { errorCode } from '../../util/start-error.ts'

type Connected = (
  error: Error | undefined,
  client: pg.PoolClient | undefined,
  release: (error?: unknown) => void,
) => void

/** How long to go on with fewer connections before the pool asks Postgres for more again. */
const modestMs = 10_000

/** Between two attempts of a process that has no connection at all. */
const pauseMs = 100

/**
 * A pool that goes on with the connections it has when Postgres gives it no more: requests wait for one of those, as they
 * do when the pool is full. pg's own pool would fail them.
 */
export class PatientPool extends pg.Pool {
  readonly #log: Log
  readonly #size: number
  #open = 0
  #reported: number | undefined
  #growing: NodeJS.Timeout | undefined

  constructor(options: pg.PoolConfig & { readonly max: number; readonly connectionTimeoutMillis: number }, log: Log) {
    super(options)
    this.#log = log
    this.#size = options.max
    this.on('connect', () => (this.#open += 1))
    this.on('remove', () => (this.#open -= 1))
  }

  // Overloaded as in pg, whose other methods call it with a callback.
  override connect(): Promise<pg.PoolClient>
  override connect(connected: Connected): void
  override connect(connected?: Connected): Promise<pg.PoolClient> | void {
    const connecting = this.#connect()
    if (!connected) return connecting
    connecting.then(
      (client) => connected(undefined, client, (error) => client.release(error as Error)),
      (error: unknown) => connected(error as Error, undefined, () => {}),
    )
  }

  override end(): Promise<void> {
    clearTimeout(this.#growing)
    return super.end()
  }

  async #connect(): Promise<pg.PoolClient> {
    const giveUpAt = performance.now() + this.options.connectionTimeoutMillis!
    for (;;) {
      try {
        return await super.connect()
      } catch (error) {
        if (!isRefusedForLackOf(error) || performance.now() > giveUpAt || this.ending) throw error
        this.#makeDo()
        if (this.#open === 0) await sleep(pauseMs)
      }
    }
  }

  #makeDo(): void {
    this.options.max = Math.max(1, Math.min(this.options.max, this.#open))
    if (this.#growing) return
    if (this.#open !== this.#reported)
      this.#log.warn(
        { connections: this.#open },
        'Postgres gives this process no more connections; going on with these',
      )
    this.#reported = this.#open
    this.#growing = setTimeout(() => {
      this.#growing = undefined
      this.options.max = this.#size
    }, modestMs)
    this.#growing.unref()
  }
}

/** The words are PgBouncer's. */
function isRefusedForLackOf(error: unknown): boolean {
  return (
    errorCode(error) === '53300' || (error instanceof Error && error.message.includes('no more connections allowed'))
  )
}
