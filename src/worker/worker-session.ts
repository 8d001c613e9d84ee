import { EventEmitter } from 'node:events'

import { Logger, run, type Runner, type WorkerEvents, type WorkerPool } from 'graphile-worker'

import { driveRun } from '../engine/drive-run.ts'
import { LeaseLostError } from '../engine/commit.ts'
import { freeLostRunJobs, runTask } from '../store/run-jobs.ts'
import { clearLease, clearLeasesOf } from '../store/leases.ts'
import { isTransientFailure } from '../store/transient-failure.ts'
import { beatHeart, giveUpWorker, holdWorkerLock, insertWorker } from '../store/workers.ts'
import { deferred } from '../util/deferred.ts'
import { Mutex } from '../util/mutex.ts'
import { createQueuePool } from './queue-pool.ts'
import type { WorkerOptions } from './worker-options.ts'

const heartbeatMs = 5_000
/** Every slot of the queue polls by itself. The sweep does it for all of them, so this is as good as never. */
const pollMs = 300_000

/** One life of a worker: its lock, its row, its place in the queue, the runs that it drives. */
export interface WorkerSession {
  readonly workerId: string
  /** The runs that are being driven now. */
  driven(): string[]
  /** So many jobs wait: slots that are free take them now. */
  wake(jobs: number): void
  /** Ends in order: steps that are under way get `graceMs`, then everything is handed back. */
  drain(graceMs: number): Promise<void>
  /** Ends at once: the lock is gone, others may have taken the runs already. */
  abandon(): Promise<void>
  /** Tries again to let go of runs that could not be let go of when they failed. */
  clearStuckLeases(): Promise<void>
  /** Frees jobs that are this worker's and that nobody here works on. */
  freeLostJobs(): Promise<void>
}

/** A run that could not be let go of, and whether driving it had failed for a reason of its own. */
interface StuckRun {
  readonly runId: string
  readonly counts: boolean
}

export async function openSession(options: WorkerOptions, onLost: () => void): Promise<WorkerSession> {
  const { engine, database, log } = options
  const { db } = engine
  const workerId = engine.ids.next()
  const draining = new AbortController()
  const release = new AbortController()
  /** By lease: a run that was let go of may be driven again before its last driver is gone. */
  const driven = new Map<string, string>()
  const stuck = new Map<string, StuckRun>()
  const suspects = new Mutex()
  const registered = deferred()
  let over = false as boolean

  let open = false

  const lock = await holdWorkerLock(database.url, workerId, () => lose())
  const { runner, pool } = await startRunner().catch((error: unknown) => fail(error))
  await insertWorker(db, { id: workerId, poolId: pool.id }).catch((error: unknown) => fail(error, runner))
  if (over) await fail(new Error('The worker lost its lock while it started.'), runner)
  open = true
  registered.resolve()
  const heartbeat = setInterval(() => void beat(), heartbeatMs)

  function lose(): void {
    if (over) return
    over = true
    if (open) onLost()
  }

  /** Nothing of a session that could not be opened is left. */
  async function fail(error: unknown, started?: Runner): Promise<never> {
    over = true
    registered.reject(error)
    registered.promise.catch(() => undefined)
    await started?.stop()
    await giveUpWorker(db, workerId).catch(() => undefined)
    await lock.release()
    throw error
  }

  async function beat(): Promise<void> {
    // A database that is away for a moment is the lock's business; a row that is gone means that we were given up.
    const alive = await beatHeart(db, workerId).catch(() => true)
    if (!alive) lose()
  }

  async function drive(runId: string): Promise<void> {
    await registered.promise
    const lease = engine.ids.next()
    driven.set(lease, runId)
    try {
      const signals = { draining: draining.signal, release: release.signal }
      await driveRun(engine, runId, { workerId, lease, suspects, ...signals })
    } catch (error) {
      // Others may have given us up: then no run is ours any more.
      if (error instanceof LeaseLostError) await beat()
      else log.error({ err: error, runId }, 'a run could not be driven on')
      // A fault of the database is not the run's. Any other error may come again wherever the run is driven.
      const counts = !(error instanceof LeaseLostError) && !isTransientFailure(error)
      await letGo(lease, { runId, counts })
      // The job must fail: one that succeeds is deleted by its id, and it may be another worker's by now.
      throw error
    } finally {
      driven.delete(lease)
    }
  }

  /** Whoever drives the run next must not find our lease on it: we live, but nobody here drives it. */
  async function letGo(lease: string, run: StuckRun): Promise<void> {
    try {
      await clearLease(db, run.runId, lease, run)
      stuck.delete(lease)
    } catch {
      stuck.set(lease, run)
    }
  }

  async function startRunner(): Promise<{ readonly runner: Runner; readonly pool: WorkerPool }> {
    const events: WorkerEvents = new EventEmitter()
    let pool: WorkerPool | undefined
    events.on('pool:create', ({ workerPool }) => {
      pool = workerPool
    })
    const runner = await run({
      pgPool: createQueuePool(database.pool, () => over),
      events,
      concurrency: options.concurrency,
      pollInterval: pollMs,
      noHandleSignals: true,
      logger: new Logger(() => (level, message) => level === 'error' && log.debug({ message }, 'the queue says')),
      parsedCronItems: [],
      taskList: { [runTask]: (payload) => drive((payload as { readonly runId: string }).runId) },
    })
    return { runner, pool: pool! }
  }

  async function end(): Promise<void> {
    over = true
    clearInterval(heartbeat)
    await runner.stop()
    // Whoever stops in order has not died: its runs are not to be counted as if it had.
    await clearLeasesOf(db, workerId).catch(() => undefined)
    await giveUpWorker(db, workerId).catch(() => undefined)
    await lock.release()
  }

  return {
    workerId,
    driven: () => [...driven.values()],
    wake(jobs) {
      if (!over && jobs > 0) pool.nudge(jobs)
    },
    async drain(graceMs) {
      draining.abort()
      const timer = setTimeout(() => release.abort(), graceMs)
      await end()
      clearTimeout(timer)
    },
    async abandon() {
      draining.abort()
      release.abort()
      await end()
    },
    async clearStuckLeases() {
      for (const [lease, run] of stuck) await letGo(lease, run)
    },
    freeLostJobs: () => freeLostRunJobs(db, pool.id, [...driven.values()]),
  }
}
