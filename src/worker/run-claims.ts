import { LeaseLostError } from '../engine/commit.ts'
import { driveRun } from '../engine/drive-run.ts'
import type { ReservedPlace } from '../live/work-signal.ts'
import { claimRuns, claimSuspect, type ClaimedRun } from '../store/workers/claim-runs.ts'
import { shownRunIds } from '../domain/ids.ts'
import { isPoison } from '../domain/runs/take-up.ts'
import { clearLease, leaveRun, listLeasesOf } from '../store/workers/leases.ts'
import type { SweepSigns } from '../store/workers/sweep-signs.ts'
import { isTransientFailure } from '../store/database/transient-failure.ts'
import { notifyWorkers } from '../store/workers/workers.ts'
import { withLogIds } from '../util/log-context.ts'
import { AbleWorkers } from './able-workers.ts'
import type { WorkerOptions } from './worker-options.ts'

/** Looks for a suspect once per this many sweeps. */
const suspectRounds = 2
/** Compares the leases with the stored ones once per this many sweeps, and immediately if one is in doubt. */
const compareRounds = 8

const firstTenant = '00000000-0000-0000-0000-000000000000'

/**
 * The runs that one worker claims and drives. It looks for runs when it is told that some may be waiting, and when a
 * place becomes free after a claim that filled all places. At most one claim is in progress. Requests that arrive
 * during it are served together by the next claim, so many signals cost few statements.
 */
export class RunClaims {
  readonly #options: WorkerOptions
  readonly #workerId: string
  readonly #onLeaseLost: () => void
  readonly #able: AbleWorkers
  readonly #draining = new AbortController()
  readonly #lettingGo = new AbortController()
  /**
   * Every run that is driven here, by its lease and not by its id: a run that was let go may be claimed again before
   * its former driver has finished.
   */
  readonly #driven = new Map<string, { readonly runId: string; readonly done: Promise<void> }>()
  /** Runs that are about to be stored with a lease of this worker, by their ids. Each keeps a place. */
  readonly #reserved = new Map<string, PromiseWithResolvers<void>>()
  #openedAt: number | undefined
  /** The statement in progress that claims leases or compares them. There is at most one. */
  #asking: Promise<void> | undefined
  #lookAgain = false
  /** The last claim filled every place, so more runs may be waiting. */
  #mayBeMore = false
  #lastTenantId = firstTenant
  /** The lease of a suspect that is driven here and has stored nothing yet. */
  #suspect: string | undefined
  /** A stored lease may have no driver here, because the answer to a claim was lost or letting go of a run failed. */
  #inDoubt = false
  #rounds = 0

  constructor(options: WorkerOptions, workerId: string, { onLeaseLost }: { readonly onLeaseLost: () => void }) {
    this.#options = options
    this.#workerId = workerId
    this.#onLeaseLost = onLeaseLost
    this.#able = new AbleWorkers(options.engine.db, workerId, options.about)
  }

  open(): void {
    this.#openedAt = performance.now()
    this.look()
  }

  get drivenRunIds(): string[] {
    return [...this.#driven.values()].map(({ runId }) => runId)
  }

  /** Looks for runs to claim. Returns false if there is no free place: someone else should look. */
  look(): boolean {
    if (this.#freePlaces() === 0) {
      this.#mayBeMore = true
      return false
    }
    if (this.#asking) this.#lookAgain = true
    else this.#ask(() => this.#claim())
    return true
  }

  /**
   * Undefined if there is no free place, or if other runs may be waiting for it: those come first. Only claims count
   * the limits of runs at a time.
   */
  reservePlace(runId: string): ReservedPlace | undefined {
    const isLimited = Object.values(this.#options.limits).some((limit) => limit !== null)
    if (this.#freePlaces() === 0 || this.#mayBeMore || isLimited) return undefined
    const reserved = Promise.withResolvers<void>()
    this.#reserved.set(runId, reserved)
    const free = () => {
      this.#reserved.delete(runId)
      reserved.resolve()
      if (this.#mayBeMore) this.look()
    }
    return {
      workerId: this.#workerId,
      leftAgentIds: this.#able.leftAgentIds,
      drive: (admitted) => {
        this.#drive({ stale: false, ...admitted })
        free()
      },
      release: ({ inDoubt } = { inDoubt: false }) => {
        this.#inDoubt ||= inDoubt
        free()
      },
    }
  }

  /**
   * Called by the sweep with what it saw. Looks for runs whose work signal was lost, for a suspect to drive, and for
   * stored leases that have no driver here.
   */
  tend({ hasWaiting, hasSuspects }: Pick<SweepSigns, 'hasWaiting' | 'hasSuspects'>): void {
    if (this.#openedAt === undefined || this.#draining.signal.aborted) return
    if (!this.#asking) this.#checkLeases(hasSuspects)
    if (hasWaiting) this.look()
  }

  #checkLeases(hasSuspects: boolean): void {
    this.#rounds += 1
    const compares = this.#inDoubt || this.#rounds % compareRounds === 0
    const claimsSuspect = hasSuspects && this.#rounds % suspectRounds === 0
    if (!compares && !claimsSuspect) return
    this.#ask(async () => {
      if (compares) await this.#clearLostLeases()
      if (claimsSuspect && this.#freePlaces() > 0) await this.#claimSuspect()
    })
  }

  /**
   * Claims nothing more and waits for the runs that are driven. Hands back those that have not finished after
   * `graceMs`.
   */
  async close(graceMs: number): Promise<void> {
    this.#draining.abort()
    if (graceMs === 0) this.#lettingGo.abort()
    const timer = setTimeout(() => this.#lettingGo.abort(), graceMs)
    await this.#asking
    await Promise.all([...this.#reserved.values()].map(({ promise }) => promise))
    while (this.#driven.size > 0) await Promise.all([...this.#driven.values()].map(({ done }) => done))
    clearTimeout(timer)
  }

  #freePlaces(): number {
    if (this.#openedAt === undefined || this.#draining.signal.aborted) return 0
    return Math.max(0, this.#options.about.capacity - this.#driven.size - this.#reserved.size)
  }

  #ask(work: () => Promise<void>): void {
    this.#lookAgain = false
    this.#asking = work()
      .catch((error: unknown) => {
        this.#inDoubt = true
        if (!isTransientFailure(error)) this.#options.log.error({ err: error }, 'runs could not be claimed')
      })
      .finally(() => {
        this.#asking = undefined
        if (this.#lookAgain) this.look()
      })
  }

  async #claim(): Promise<void> {
    const places = this.#freePlaces()
    if (places === 0) return
    const { leftAgentIds } = this.#able
    const claim = { workerId: this.#workerId, places, lastTenantId: this.#lastTenantId, leftAgentIds }
    const claimed = await claimRuns(this.#options.engine.db, claim, this.#options.limits)
    this.#mayBeMore = claimed.length === places
    for (const run of claimed) this.#drive(run)
    this.#lastTenantId = claimed.at(-1)?.loaded.state.run.tenantId ?? this.#lastTenantId
  }

  async #claimSuspect(): Promise<void> {
    const livedMs = performance.now() - (this.#openedAt ?? Infinity)
    const mayDrive = this.#suspect === undefined && livedMs >= this.#options.suspectAfterMs
    const claimed = await claimSuspect(this.#options.engine.db, { workerId: this.#workerId, mayDrive })
    if (!claimed) return
    if (mayDrive) this.#suspect = leaseOf(claimed)
    this.#drive(claimed)
  }

  #drive(claimed: ClaimedRun): void {
    const { id: runId } = claimed.loaded.state.run
    const lease = leaseOf(claimed)
    const done = this.#driveToItsEnd(claimed, runId, lease).finally(() => {
      this.#driven.delete(lease)
      if (this.#suspect === lease) this.#suspect = undefined
      if (this.#mayBeMore) this.look()
    })
    this.#driven.set(lease, { runId, done })
  }

  async #driveToItsEnd(claimed: ClaimedRun, runId: string, lease: string): Promise<void> {
    const { engine, log } = this.#options
    try {
      if (await this.#leave(claimed)) return
      const worker = {
        draining: this.#draining.signal,
        letGo: this.#lettingGo.signal,
        onProgress: () => {
          if (this.#suspect === lease) this.#suspect = undefined
        },
      }
      await withLogIds(log, shownRunIds(claimed.loaded.state.run), () => driveRun(engine, claimed, worker))
    } catch (error) {
      const isLost = error instanceof LeaseLostError
      const isTransient = isTransientFailure(error)
      // This worker may have been declared dead. In that case none of its runs belongs to it any more.
      if (isLost) this.#onLeaseLost()
      else
        log[isTransient ? 'warn' : 'error'](
          { ...shownRunIds(claimed.loaded.state.run), err: error },
          'driving a run failed',
        )
      // A database failure is not the run's fault. Any other error may happen again on every worker, so it counts.
      await this.#letGo(runId, lease, { counts: !isLost && !isTransient })
    }
  }

  /** Leaves the run to a worker that has what the run needs and this one lacks, if there is such a worker. */
  async #leave(claimed: ClaimedRun): Promise<boolean> {
    const { state } = claimed.loaded
    if (isPoison(state.run) || !(await this.#able.shouldLeave(state))) return false
    const { db } = this.#options.engine
    await leaveRun(db, state.run.id, leaseOf(claimed))
    await notifyWorkers(db)
    return true
  }

  /** Clears the lease, which would keep others from the run: this worker is alive, but no longer drives it. */
  async #letGo(runId: string, lease: string, { counts }: { readonly counts: boolean }): Promise<void> {
    try {
      await clearLease(this.#options.engine.db, runId, lease, { counts })
      this.#options.engine.work.announce()
    } catch {
      this.#inDoubt = true
    }
  }

  /**
   * Clears stored leases that have no driver here. No claim is in progress at this point, so such a lease was lost,
   * unless its run is just being stored.
   */
  async #clearLostLeases(): Promise<void> {
    const { db, work } = this.#options.engine
    const stored = await listLeasesOf(db, this.#workerId)
    const lost = stored.filter(({ runId, lease }) => !this.#driven.has(lease) && !this.#reserved.has(runId))
    for (const { runId, lease } of lost) await clearLease(db, runId, lease, { counts: false })
    this.#inDoubt = false
    if (lost.length > 0) work.announce()
  }
}

function leaseOf({ loaded }: ClaimedRun): string {
  const { id, lease } = loaded.state.run
  if (lease === null) throw new Error(`The run ${id} was claimed without a lease.`)
  return lease
}
