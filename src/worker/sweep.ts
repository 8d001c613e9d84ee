import { stopAbandonedRuns } from '../commands/cancel-run.ts'
import { expireApprovals } from '../commands/expire-approvals.ts'
import { addMissingRunJobs, countDueRunJobs, freeOrphanedRunJobs, hastenRunJobs } from '../store/run-jobs.ts'
import { deleteOldIdempotencyKeys } from '../store/idempotency-keys.ts'
import { freeRunsOfTheDead } from '../store/leases.ts'
import { listCancelledRuns } from '../store/runs.ts'
import { giveUpWorker, listSuspects } from '../store/workers.ts'
import type { WorkerOptions } from './worker-options.ts'
import type { WorkerSession } from './worker-session.ts'

const intervalMs = 500
/** A lock may be free for a moment while its worker reconnects; a heart that is silent so long has stopped. */
const silenceMs = 30_000
/** What is rarer or dearer is done every so many rounds. */
const slowRounds = 4
const rareRounds = 20
const missingJobAfterMs = 2_000

/**
 * Looks after what nobody else does, in every process, twice a second: workers that died, runs that should be moving
 * and are not, cancels whose news was lost, approvals whose time is over.
 */
export class Sweep {
  readonly #options: WorkerOptions
  readonly #session: () => WorkerSession | undefined
  #timer: NodeJS.Timeout | undefined
  #sweeping: Promise<void> | undefined
  #round = 0
  /** Workers whose lock was free in the last round. */
  #suspects = new Set<string>()

  constructor(options: WorkerOptions, session: () => WorkerSession | undefined) {
    this.#options = options
    this.#session = session
  }

  start(): void {
    // A round that takes longer than the interval is not overtaken by the next.
    const round = (): void => {
      this.#sweeping ??= this.#sweep().finally(() => (this.#sweeping = undefined))
    }
    this.#timer = setInterval(round, intervalMs)
    // At once: after a crash of the whole server, its runs wait for nothing but this.
    round()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#sweeping
  }

  async #sweep(): Promise<void> {
    this.#round += 1
    const { engine, log } = this.#options
    const chores = [
      () => this.#giveUpDeadWorkers(),
      () => this.#stopCancelledRuns(),
      () => expireApprovals(engine),
      ...(this.#round % slowRounds === 0
        ? [() => this.#session()?.clearStuckLeases(), () => stopAbandonedRuns(engine), () => this.#tendJobs()]
        : []),
      ...(this.#round % rareRounds === 0 ? [() => deleteOldIdempotencyKeys(engine.db, engine.clock.now())] : []),
    ]
    // What fails in one must not keep the others from being done.
    const failures: unknown[] = []
    for (const chore of chores) {
      try {
        await chore()
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) log.warn({ err: failures[0] }, 'a sweep failed; the next one tries again')
  }

  async #giveUpDeadWorkers(): Promise<void> {
    const { db } = this.#options.engine
    const suspects = await listSuspects(db, silenceMs)
    for (const { id, silent } of suspects) {
      if (!silent && !this.#suspects.has(id)) continue
      this.#options.log.warn({ workerId: id }, 'a worker died: its runs go on elsewhere')
      await giveUpWorker(db, id)
    }
    await freeRunsOfTheDead(db)
    this.#suspects = new Set(suspects.map(({ id }) => id))
  }

  async #stopCancelledRuns(): Promise<void> {
    const { db, hub } = this.#options.engine
    const driven = this.#session()?.driven() ?? []
    if (driven.length === 0) return
    for (const runId of await listCancelledRuns(db, driven)) hub.requestStop(runId)
  }

  async #tendJobs(): Promise<void> {
    const { db, clock } = this.#options.engine
    const session = this.#session()
    await session?.freeLostJobs()
    await freeOrphanedRunJobs(db)
    await hastenRunJobs(db)
    const added = await addMissingRunJobs(db, new Date(clock.now().getTime() - missingJobAfterMs))
    if (added.length > 0) this.#options.log.warn({ runs: added.length }, 'runs had no job: they have one again')
    // Jobs are announced; this is for an announcement that was lost, and for jobs that had been put off.
    if (session) session.wake(await countDueRunJobs(db))
  }
}
