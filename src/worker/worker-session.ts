import { deleteWorker, holdWorkerLock, beatHeart, insertWorker } from '../store/workers.ts'
import { clearLeasesOf } from '../store/leases.ts'
import { RunClaims } from './run-claims.ts'
import type { WorkerOptions } from './worker-options.ts'

const heartbeatMs = 5_000

/** One life of a worker: its lock, its row, the runs that it claims and drives. */
export interface WorkerSession {
  readonly workerId: string
  readonly claims: RunClaims
  /** Ends in order: steps that are under way get `graceMs`, then everything is handed back. */
  drain(graceMs: number): Promise<void>
  /** Ends at once: the lock is gone, others may have taken the runs already. */
  abandon(): Promise<void>
}

export async function openSession(options: WorkerOptions, onLost: () => void): Promise<WorkerSession> {
  const { engine, database } = options
  const { db } = engine
  const workerId = engine.ids.next()
  let over = false as boolean
  let open = false
  const lose = () => {
    if (over) return
    over = true
    if (open) onLost()
  }

  const claims = new RunClaims(options, workerId, { onLeaseLost: () => void beat() })
  const lock = await holdWorkerLock(database.url, workerId, { onLost: lose, onWork: () => claims.look() })
  await insertWorker(db, workerId, options.about).catch((error: unknown) => fail(error))
  if (over) await fail(new Error('The worker lost its lock while it started.'))
  open = true
  const heartbeat = setInterval(() => void beat(), heartbeatMs)
  claims.open()

  /** Nothing of a session that could not be opened is left. */
  async function fail(error: unknown): Promise<never> {
    over = true
    await deleteWorker(db, workerId).catch(() => undefined)
    await lock.release()
    throw error
  }

  async function beat(): Promise<void> {
    // A database that is away for a moment is the lock's business; a row that is gone means that we were given up.
    const alive = await beatHeart(db, workerId).catch(() => true)
    if (!alive) lose()
  }

  async function end(closed: Promise<void>): Promise<void> {
    over = true
    clearInterval(heartbeat)
    await closed
    // A worker that stops in order has not died: its runs must not be counted as if it had.
    await clearLeasesOf(db, workerId).catch(() => undefined)
    await deleteWorker(db, workerId).catch(() => undefined)
    await lock.release()
  }

  return {
    workerId,
    claims,
    drain: (graceMs) => end(claims.close(graceMs)),
    abandon: () => end(claims.close(0)),
  }
}
