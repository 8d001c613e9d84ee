import { fireSchedules } from '../commands/schedules/run-schedule.ts'
import { stopAbandonedRuns } from '../commands/runs/cancel-run.ts'
import { expireApprovals } from '../commands/approvals/submit-approvals.ts'
import { encodeId, shownRunIds } from '../domain/ids.ts'
import { deleteExpired } from '../store/expired.ts'
import { freeRunsOfTheDead } from '../store/workers/leases.ts'
import { readSweepSigns, type SweepSigns } from '../store/workers/sweep-signs.ts'
import { countEndedRuns } from '../store/usage/count-runs.ts'
import { deleteWorker } from '../store/workers/workers.ts'
import { embedPassages } from './embed-passages.ts'
import { createArchiveIndexer } from './index-archives.ts'
import { Retention } from './retention.ts'
import type { WorkerOptions } from './worker-options.ts'
import type { WorkerPresence } from './worker-presence.ts'
import type { WorkerSession } from './worker-session.ts'

const intervalMs = 500

/** Runs that ended are counted in every n-th round: together they cost less. */
const countEvery = 10

/** After a pause of this length between two looks, due times in it count as missed. */
const longPauseMs = 30_000

/** After an outage, the other workers get this long to come back before any of them is declared dead. */
const comeBackMs = 10_000

interface Task {
  readonly name: string
  /** The task runs in every n-th round. */
  readonly every: number
  run(): Promise<void> | void
}

/**
 * Does what no other part does, in every process and twice a second: it frees the runs of dead workers, finds runs
 * whose work signal was lost, ends cancelled runs that have no worker, and expires approvals. A round first looks, with
 * one statement that takes no lock on a row, and then starts the tasks that are needed. The tasks are independent: one
 * that fails or waits for a lock does not delay the others.
 */
export class Sweep {
  readonly #options: WorkerOptions
  readonly #session: () => WorkerSession | undefined
  readonly #drives: boolean
  readonly #tasks: readonly Task[]
  /** By name. */
  readonly #running = new Map<string, Promise<void>>()
  readonly #retention: Retention
  readonly #stopping = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #round = 0
  /** Workers whose lock was free in the last round. */
  #silent = new Set<string>()
  /** When it began to look for due schedules, and when it last did. */
  #watched: { readonly since: Date; readonly to: Date } | undefined
  /** Until this time, nobody is declared dead. */
  #patientUntil = 0

  constructor(
    options: WorkerOptions,
    {
      session,
      others,
    }: { readonly session: () => WorkerSession | undefined; readonly others: WorkerPresence | undefined },
  ) {
    this.#options = options
    this.#session = session
    this.#drives = others === undefined
    const { engine } = options
    const { db, clock } = engine
    options.database.onMoved(() => this.#beginAgain())
    this.#retention = new Retention({ db, clock, rules: options.retention, onDeleted: options.onDeleted })
    const indexArchives = createArchiveIndexer(options)
    this.#tasks = [
      { name: 'look', every: 1, run: () => this.#look() },
      {
        name: 'delete what has expired',
        every: 120,
        run: () => deleteExpired(db, { ...options, now: clock.now() }),
      },
      { name: 'delete what is old', every: 10, run: () => this.#retention.tidy(this.#stopping.signal) },
      others
        ? { name: 'look for workers', every: 4, run: () => others.look() }
        : { name: 'index large archives', every: 1_200, run: () => indexArchives(this.#stopping.signal) },
    ]
  }

  start(): void {
    // The worker may have been stopped while it started.
    if (this.#stopping.signal.aborted) return
    this.#timer = setInterval(() => this.#sweep(), intervalMs)
    // The first round starts immediately: after a crash of the whole server, its runs wait only for this.
    this.#sweep()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#stopping.abort()
    await Promise.all(this.#running.values())
  }

  #sweep(): void {
    this.#round += 1
    for (const task of this.#tasks) {
      if (this.#round % task.every === 0) this.#begin(task.name, () => task.run())
    }
  }

  /** A task that takes longer than the interval is not started a second time. */
  #begin(task: string, run: () => Promise<void> | void): void {
    if (this.#running.has(task)) return
    const running = Promise.try(run)
      .catch((error: unknown) => {
        this.#options.log.warn({ err: error, task }, 'a sweep task failed; retrying in the next round')
      })
      .finally(() => this.#running.delete(task))
    this.#running.set(task, running)
  }

  async #look(): Promise<void> {
    const { engine } = this.#options
    const claims = this.#session()?.claims
    const looked = { now: engine.clock.now(), drivenRunIds: claims?.drivenRunIds ?? [] }
    const signs = await readSweepSigns(engine.db, looked).catch((error: unknown) => {
      this.#beginAgain()
      throw error
    })
    if (this.#stopping.signal.aborted) return
    this.#begin('free the runs of dead workers', () => this.#freeRunsOfDeadWorkers(signs))
    this.#session()?.claims.tend(signs)
    for (const runId of signs.cancelledRunIds) engine.hub.requestStop(runId)
    const since = this.#watchedSince(looked.now)
    if (signs.hasDue) this.#begin('fire schedules', () => fireSchedules(engine, { since }))
    if (signs.hasDeliveries) this.#session()?.sender.look()
    if (signs.hasUncounted && this.#round % countEvery === 0)
      this.#begin('count usage', () => countEndedRuns(engine.db))
    const stop = this.#stopping.signal
    if (signs.hasTextsToEmbed && this.#drives)
      this.#begin('embed passages', () => embedPassages(engine, { providers: this.#options.about.providers, stop }))
    if (signs.hasExpired) this.#begin('expire approvals', () => expireApprovals(engine))
    if (signs.hasAbandoned) this.#begin('end cancelled runs that nobody drives', () => stopAbandonedRuns(engine))
  }

  /** Since when this process has looked for due schedules without a long pause, such as an outage or a sleeping machine. */
  #watchedSince(now: Date): Date {
    const before = this.#watched
    const hasPaused = before === undefined || now.getTime() - before.to.getTime() > longPauseMs
    const since = hasPaused ? now : before.since
    this.#watched = { since, to: now }
    return since
  }

  async #freeRunsOfDeadWorkers({ silentWorkers, hasOrphans }: SweepSigns): Promise<void> {
    const { db, work } = this.#options.engine
    // This process has lost its own session. The database may have been away, and the others begin again too.
    if (this.#drives && !this.#session()) return this.#beginAgain()
    if (performance.now() < this.#patientUntil) return
    const dead = silentWorkers.filter((worker) => worker.silent || this.#silent.has(worker.id))
    this.#silent = new Set(silentWorkers.map(({ id }) => id))
    for (const { id } of dead) {
      this.#options.log.warn({ workerId: encodeId('Worker', id) }, 'a worker died; other workers continue its runs')
      await deleteWorker(db, id)
    }
    // Also without a death seen here: the process that saw it may have died before it freed the runs.
    if (dead.length === 0 && !hasOrphans) return
    const freed = await freeRunsOfTheDead(db)
    for (const run of freed) {
      const facts = { ...shownRunIds(run), workerId: encodeId('Worker', run.workerId), deaths: run.deaths }
      this.#options.log.warn(facts, 'a run is taken over from a dead worker')
    }
    if (freed.length > 0) work.announce()
  }

  #beginAgain(): void {
    this.#silent.clear()
    this.#patientUntil = performance.now() + comeBackMs
  }
}
