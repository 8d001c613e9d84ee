import { stopAbandonedRuns } from '../commands/cancel-run.ts'
import { expireApprovals } from '../commands/expire-approvals.ts'
import { encodeId, shownRunIds } from '../domain/ids.ts'
import { deleteUnusedFiles } from '../store/files.ts'
import { deleteOldIdempotencyKeys } from '../store/idempotency-keys.ts'
import { freeRunsOfTheDead } from '../store/leases.ts'
import { listCancelledRuns } from '../store/runs.ts'
import { deleteOldStepExchanges } from '../store/step-exchanges.ts'
import { deleteWorker, listSilentWorkers } from '../store/workers.ts'
import { Retention } from './retention.ts'
import type { WorkerOptions } from './worker-options.ts'
import type { WorkerPresence } from './worker-presence.ts'
import type { WorkerSession } from './worker-session.ts'

const intervalMs = 500

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
 * whose work signal was lost, ends cancelled runs that have no worker, and expires approvals. The tasks are
 * independent: one that fails or waits for a lock does not delay the others.
 */
export class Sweep {
  readonly #options: WorkerOptions
  readonly #session: () => WorkerSession | undefined
  readonly #drives: boolean
  readonly #tasks: readonly Task[]
  readonly #running = new Map<Task, Promise<void>>()
  readonly #retention: Retention
  readonly #stopping = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #round = 0
  /** Workers whose lock was free in the last round. */
  #silent = new Set<string>()
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
    this.#retention = new Retention({ db, clock, rules: options.retention, onDeleted: options.onDeleted })
    this.#tasks = [
      { name: 'free the runs of dead workers', every: 1, run: () => this.#freeRunsOfDeadWorkers() },
      { name: 'look for runs', every: 1, run: () => this.#lookForRuns() },
      { name: 'stop cancelled runs', every: 1, run: () => this.#stopCancelledRuns() },
      { name: 'expire approvals', every: 1, run: () => expireApprovals(engine) },
      { name: 'end cancelled runs that nobody drives', every: 4, run: () => stopAbandonedRuns(engine) },
      {
        name: 'delete idempotency keys',
        every: 20,
        run: () => deleteOldIdempotencyKeys(engine.db, engine.clock.now()),
      },
      {
        name: 'delete kept requests',
        every: 120,
        run: () => deleteOldStepExchanges(engine.db, new Date(engine.clock.now().getTime() - options.keepRequestsMs)),
      },
      {
        name: 'delete unused files',
        every: 120,
        run: () => deleteUnusedFiles(engine.db, engine.clock.now()),
      },
      { name: 'delete what is old', every: 10, run: () => this.#retention.tidy(this.#stopping.signal) },
      ...(others ? [{ name: 'look for workers', every: 4, run: () => others.look() }] : []),
    ]
  }

  start(): void {
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
      // A task that takes longer than the interval is not started a second time.
      if (this.#round % task.every !== 0 || this.#running.has(task)) continue
      const running = Promise.try(() => task.run())
        .catch((error: unknown) => {
          this.#options.log.warn({ err: error, task: task.name }, 'a sweep task failed; retrying in the next round')
        })
        .finally(() => this.#running.delete(task))
      this.#running.set(task, running)
    }
  }

  async #freeRunsOfDeadWorkers(): Promise<void> {
    const { db, work } = this.#options.engine
    // This process has lost its own session. The database may have been away, and the others begin again too.
    if (this.#drives && !this.#session()) return this.#beginAgain()
    const silent = await listSilentWorkers(db).catch((error: unknown) => {
      this.#beginAgain()
      throw error
    })
    if (performance.now() < this.#patientUntil) return
    const dead = silent.filter((worker) => worker.silent || this.#silent.has(worker.id))
    this.#silent = new Set(silent.map(({ id }) => id))
    for (const { id } of dead) {
      this.#options.log.warn({ workerId: encodeId('Worker', id) }, 'a worker died; other workers continue its runs')
      await deleteWorker(db, id)
    }
    // Also runs now and then without a death seen here: the process that saw it may have died before it freed the runs.
    if (dead.length === 0 && this.#round % 4 !== 0) return
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

  /** Finds runs whose work signal was lost. */
  #lookForRuns(): void {
    const claims = this.#session()?.claims
    claims?.tend()
    claims?.look()
  }

  async #stopCancelledRuns(): Promise<void> {
    const { db, hub } = this.#options.engine
    const driven = this.#session()?.claims.drivenRunIds ?? []
    if (driven.length === 0) return
    for (const runId of await listCancelledRuns(db, driven)) hub.requestStop(runId)
  }
}
