import { EventEmitter } from 'node:events'

import { Logger, run, type Runner, type WorkerEvents } from 'graphile-worker'

import { driveRun } from '../engine/drive-run.ts'
import { LeaseLostError } from '../engine/commit.ts'
import { runTask } from '../store/run-jobs.ts'
import { clearLease, findRunHold } from '../store/runs.ts'
import { beatHeart, giveUpWorker, holdWorkerLock, insertWorker } from '../store/workers.ts'
import { deferred } from '../util/deferred.ts'
import type { WorkerOptions } from './worker-options.ts'

const heartbeatMs = 5_000
/** Jobs are announced; the poll covers an announcement that was lost and jobs that were put off. */
const pollMs = 1_000

/** One life of a worker: its lock, its row, its place in the queue, the runs that it drives. */
export interface WorkerSession {
  readonly workerId: string
  /** The runs that are being driven now. */
  driven(): string[]
  /** Ends in order: steps that are under way get `graceMs`, then everything is handed back. */
  drain(graceMs: number): Promise<void>
  /** Ends at once: the lock is gone, others may have taken the runs already. */
  abandon(): Promise<void>
  /** Tries again to let go of runs that could not be let go of when they failed. */
  clearStuckLeases(): Promise<void>
}

export async function openSession(options: WorkerOptions, onLost: () => void): Promise<WorkerSession> {
  const { engine, database, log } = options
  const { db } = engine
  const workerId = engine.ids.next()
  const draining = new AbortController()
  const release = new AbortController()
  const driven = new Set<string>()
  const stuck = new Set<string>()
  const registered = deferred()
  let over = false

  const lock = await holdWorkerLock(database.url, workerId, () => lose())
  const { runner, poolId } = await startRunner()
  await insertWorker(db, { id: workerId, poolId })
  registered.resolve()
  const heartbeat = setInterval(() => void beat(), heartbeatMs)

  function lose(): void {
    if (over) return
    over = true
    onLost()
  }

  async function beat(): Promise<void> {
    // A database that is away for a moment is the lock's business; a row that is gone means that we were given up.
    const alive = await beatHeart(db, workerId).catch(() => true)
    if (!alive) lose()
  }

  async function drive(runId: string): Promise<void> {
    await registered.promise
    driven.add(runId)
    try {
      await driveRun(engine, runId, { workerId, draining: draining.signal, release: release.signal })
    } catch (error) {
      if (!(error instanceof LeaseLostError)) {
        log.error({ err: error, runId }, 'a run could not be driven on')
        await letGo(runId)
      }
      // The job must fail: one that succeeds is deleted by its id, and it may be another worker's by now.
      throw error
    } finally {
      driven.delete(runId)
    }
  }

  /** Whoever drives the run next must not find our lease on it: we live, but nobody here drives it. */
  async function letGo(runId: string): Promise<void> {
    try {
      const hold = await findRunHold(db, runId)
      if (hold?.lease && hold.workerId === workerId) await clearLease(db, runId, hold.lease)
      stuck.delete(runId)
    } catch {
      stuck.add(runId)
    }
  }

  async function startRunner(): Promise<{ readonly runner: Runner; readonly poolId: string }> {
    const events: WorkerEvents = new EventEmitter()
    let poolId = ''
    events.on('pool:create', ({ workerPool }) => (poolId = workerPool.id))
    const runner = await run({
      pgPool: database.pool,
      events,
      concurrency: options.concurrency,
      pollInterval: pollMs,
      noHandleSignals: true,
      // One asks for all who are free, instead of each of them every second; and never for more than one at a time, so
      // that no run waits here behind others while another process could take it.
      preset: { worker: { localQueue: { size: 1 } } },
      logger: new Logger(() => (level, message) => level === 'error' && log.debug({ message }, 'the queue says')),
      parsedCronItems: [],
      taskList: { [runTask]: (payload) => drive((payload as { readonly runId: string }).runId) },
    })
    return { runner, poolId }
  }

  async function end(): Promise<void> {
    over = true
    clearInterval(heartbeat)
    await runner.stop()
    await giveUpWorker(db, workerId).catch(() => undefined)
    await lock.release()
  }

  return {
    workerId,
    driven: () => [...driven],
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
      for (const runId of stuck) await letGo(runId)
    },
  }
}
