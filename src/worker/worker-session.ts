import { deleteWorker, holdWorkerLock, beatHeart, insertWorker } from '../store/workers/workers.ts'
import { clearLeasesOf } from '../store/workers/leases.ts'
import { RunClaims } from './run-claims.ts'
import type { WorkerOptions } from './worker-options.ts'

const heartbeatMs = 5_000

/** One life of a worker: its lock, its row, and the runs that it claims and drives. */
export interface WorkerSession {
  readonly workerId: string
  readonly claims: RunClaims
  /** Ends in an orderly way: running steps get `graceMs` to finish, then everything is handed back. */
  drain(graceMs: number): Promise<void>
  /** Ends immediately: the lock is gone, and others may already have taken the runs. */
  abandon(): Promise<void>
  /** Stores that the worker holds nothing any more. Throws if the database is unavailable. May be repeated. */
  handOver(): Promise<void>
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

  /** Removes everything that a failed start has left, then throws. */
  async function fail(error: unknown): Promise<never> {
    over = true
    await deleteWorker(db, workerId).catch(() => undefined)
    await lock.release()
    throw error
  }

  async function beat(): Promise<void> {
    // A failed query says nothing: the lock's connection tells whether the worker lives. A missing row means that
    // others have declared it dead.
    const alive = await beatHeart(db, workerId).catch(() => true)
    if (!alive) lose()
  }

  async function end(closed: Promise<void>): Promise<void> {
    over = true
    clearInterval(heartbeat)
    await closed
    await handOver().catch(() => undefined)
    await lock.release()
  }

  async function handOver(): Promise<void> {
    // A worker that stops in an orderly way has not died, so its runs must not count a death.
    await clearLeasesOf(db, workerId)
    await deleteWorker(db, workerId)
  }

  return {
    workerId,
    claims,
    drain: (graceMs) => end(claims.close(graceMs)),
    abandon: () => end(claims.close(0)),
    handOver,
  }
}
