import { setTimeout as sleep } from 'node:timers/promises'

import { deleteWorker, holdWorkerLock, beatHeart, insertWorker } from '../store/workers/workers.ts'
import { clearLeasesOf } from '../store/workers/leases.ts'
import { RunClaims } from './run-claims.ts'
import { WebhookSender } from './webhook-sender.ts'
import type { WorkerOptions } from './worker-options.ts'

const heartbeatMs = 5_000

/** How long an attempt of a webhook may still take when the worker stops. It is made again elsewhere. */
const sendGraceMs = 5_000

/** One life of a worker: its lock, its row, and the runs that it claims and drives once `claims` is open. */
export interface WorkerSession {
  readonly workerId: string
  readonly claims: RunClaims
  readonly sender: WebhookSender
  /** Ends in an orderly way: running steps get `graceMs` to finish, then everything is handed back. */
  drain(graceMs: number): Promise<void>
  /** Ends immediately: the lock is gone, and others may already have taken the runs. */
  abandon(): Promise<void>
  /** Stores that the worker holds nothing any more. Throws if the database is unavailable. May be repeated. */
  handOver(): Promise<void>
}

export async function openWorkerSession(options: WorkerOptions, onLost: () => void): Promise<WorkerSession> {
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

  const sender = new WebhookSender(options, workerId)
  const claims = new RunClaims(options, workerId, { onLeaseLost: () => void beat() })
  const lock = await holdWorkerLock(database, workerId, { onLost: lose, onWork: () => claims.look() })
  await insertWorker(db, workerId, options.about).catch((error: unknown) => fail(error))
  if (over) await fail(new Error('The worker lost its lock while it started.'))
  open = true
  const heartbeat = setInterval(() => void beat(), heartbeatMs)

  /** Removes everything that a failed start has left, then throws. */
  async function fail(error: unknown): Promise<never> {
    over = true
    await deleteWorker(db, workerId).catch(() => undefined)
    await lock.close()
    throw error
  }

  async function beat(): Promise<void> {
    // A failed query says nothing: the lock's connection tells whether the worker lives. A missing row means that
    // others have declared it dead.
    const alive = await beatHeart(db, workerId).catch(() => true)
    if (!alive) lose()
  }

  async function end(graceMs: number): Promise<void> {
    over = true
    clearInterval(heartbeat)
    const closed = Promise.all([claims.close(graceMs), sender.close(Math.min(graceMs, sendGraceMs))])
    await Promise.race([closed, sleep(graceMs, undefined, { ref: false })])
    // A statement that hangs would keep its run, and so the end, waiting.
    await database.breakSilentDuring(closed.then(handOver).catch(() => undefined))
    await lock.close()
  }

  async function handOver(): Promise<void> {
    // A worker that stops in an orderly way has not died, so its runs must not count a death.
    await clearLeasesOf(db, workerId)
    await deleteWorker(db, workerId)
  }

  return {
    workerId,
    claims,
    sender,
    drain: (graceMs) => end(graceMs),
    abandon: () => end(0),
    handOver,
  }
}
