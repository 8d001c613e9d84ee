import type pg from 'pg'

const tryAgainMs = 500
/** The statements that take a job off the queue, or put it back, by the names that the queue prepares them under. */
const finishesJob = /^(complete|fail)_job\//

/**
 * The pool as the queue gets it. The queue finishes a job without waiting for it: where the database is away at that
 * moment, nobody catches the error, which ends the process; and a job that is not finished is kept from everybody until
 * the sweep finds it. So that is tried until it succeeds, or the session is over and its jobs are freed.
 */
export function createQueuePool(pool: pg.Pool, isOver: () => boolean): pg.Pool {
  async function finish(query: pg.QueryConfig): Promise<unknown> {
    for (;;) {
      try {
        return await pool.query(query)
      } catch {
        if (isOver()) return undefined
        await new Promise((resolve) => setTimeout(resolve, tryAgainMs))
      }
    }
  }

  /** A connection that is taken when it is needed: to ask for one may fail as well. */
  function lend() {
    let connecting: Promise<pg.PoolClient> | undefined
    return {
      async query(query: string | pg.QueryConfig, values?: unknown[]): Promise<unknown> {
        if (typeof query === 'object' && finishesJob.test(query.name ?? '')) return finish(query)
        const client = await (connecting ??= pool.connect())
        return client.query(query as string, values)
      },
      release: () => connecting?.then((client) => client.release()),
    }
  }

  return new Proxy(pool, {
    get(target, key) {
      if (key === 'connect')
        return (callback?: unknown) =>
          callback === undefined ? Promise.resolve(lend()) : pool.connect(callback as never)
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
