import { sql } from 'kysely'

import type { Clock } from '../../util/clock.ts'
import { onlyRow } from './rows.ts'
import type { Db } from './schema.ts'

const compareMs = 5_000

/** A clock that shows the database's time. It must be stopped. */
export interface DatabaseClock extends Clock {
  stop(): void
}

/**
 * Every process on a database shares its time: a machine whose own clock is wrong expires no approval early, frees no
 * idempotency key, and creates no run that seems older or newer than those of other processes.
 *
 * The clock adds a measured difference to a monotonic timer. It compares the two every few seconds, because the timer
 * stops while the machine sleeps.
 */
export async function startDatabaseClock(db: Db): Promise<DatabaseClock> {
  let differenceMs: number | undefined

  async function compare(): Promise<void> {
    const before = performance.now()
    const read = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db)
    const after = performance.now()
    const databaseMs = onlyRow(read).now.getTime()
    // The database read its clock at some time between the two. A difference that is still possible is kept, so that
    // the time does not jump.
    const [least, most] = [databaseMs - after, databaseMs - before + 1]
    if (differenceMs === undefined || differenceMs < least || differenceMs > most) differenceMs = (least + most) / 2
  }

  await compare()
  // While the database cannot be reached, the timer goes on alone.
  const timer = setInterval(() => void compare().catch(() => undefined), compareMs)
  timer.unref()
  return {
    now: () => new Date(performance.now() + differenceMs!),
    stop: () => clearInterval(timer),
  }
}
