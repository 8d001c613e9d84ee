import { shownStatus, type Run } from '../domain/runs/run.ts'
import type { Reach } from '../domain/access/viewer.ts'
import { findRuns, listChangedRuns, listRecentStatuses } from '../store/runs/runs.ts'
import type { FollowContext } from './follow-run.ts'
import type { Hub } from './hub.ts'
import { PulledIterator } from './pulled-iterator.ts'

export interface RunChangesFilter {
  readonly agentIds: readonly string[] | undefined
  readonly conversationId: string | undefined
}

const pageSize = 100
/**
 * A subscriber that is this many runs behind forgets their ids, and instead reads all runs that changed since it was
 * last up to date.
 */
const keptChanges = 1_000
const pollMs = 1_000
/** How far back to look again: a change carries the time when its transaction began, but becomes visible later. */
const slackMs = 10_000

/**
 * Sends the current state of each run within reach whose status has changed since `since`, then each run whenever it
 * changes. Each change is sent at least once. A subscriber keeps the ids of the changed runs that it has not sent yet,
 * each id once.
 */
export function watchRuns(
  context: FollowContext,
  reach: Reach,
  options: { readonly since: Date; readonly filter: RunChangesFilter },
): AsyncIterableIterator<Run> {
  const { tenantId } = reach
  const byTenant = feeds.get(context.hub) ?? new Map<string, ChangeFeed>()
  feeds.set(context.hub, byTenant)
  const feed = byTenant.get(tenantId) ?? new ChangeFeed(context, tenantId)
  byTenant.set(tenantId, feed)
  return new RunWatcher({ ...context, reach }, feed, options, () => {
    if (feed.isIdle()) byTenant.delete(tenantId)
  })
}

/** The feeds that have subscribers, by tenant. There is one hub per process. */
const feeds = new WeakMap<Hub, Map<string, ChangeFeed>>()

/** Equal to no status, so that the next poll tells everyone about the run. */
const unsure = 'unsure'

/** Called with undefined when changes may have been missed. */
type ChangeListener = (runId: string | undefined) => void

/** What a tenant's subscribers share: the news, and a poll once a second for changes whose news was lost. */
class ChangeFeed {
  readonly #context: FollowContext
  readonly tenantId: string
  readonly #listeners = new Set<ChangeListener>()
  #stopWatching: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #polling: Promise<void> | undefined
  /** The status of recently changed runs, as subscribers last learned it. */
  #known = new Map<string, string>()
  /** When the last successful poll began. */
  #polledAt: Date

  constructor(context: FollowContext, tenantId: string) {
    this.#context = context
    this.tenantId = tenantId
    this.#polledAt = context.clock.now()
  }

  isIdle(): boolean {
    return this.#listeners.size === 0
  }

  /** After this, a database read is at least as new as what the feed considers known. */
  async ready(): Promise<void> {
    await this.#polling
  }

  /**
   * A subscriber is about to send these runs. A run that is newer than its news may change back before the next poll,
   * which would then find nothing new.
   */
  sends(runs: readonly Run[]): void {
    for (const run of runs) {
      const known = this.#known.get(run.id)
      if (known !== undefined && known !== shownStatus(run)) this.#known.set(run.id, unsure)
    }
  }

  subscribe(listener: ChangeListener): () => void {
    if (this.isIdle()) this.#open()
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
      if (this.isIdle()) this.#close()
    }
  }

  #open(): void {
    this.#stopWatching = this.#context.hub.watchTenant(this.tenantId, (news) => {
      if (!news) return this.#tell(undefined)
      if (news.status === null || news.runId === null) return
      this.#known.set(news.runId, news.status)
      this.#tell(news.runId)
    })
    this.#timer = setInterval(() => this.#poll((runId) => this.#tell(runId)), pollMs)
    // New subscribers read earlier changes themselves.
    this.#poll(() => {})
  }

  #close(): void {
    this.#stopWatching?.()
    clearInterval(this.#timer)
    this.#known.clear()
  }

  #tell(runId: string | undefined): void {
    for (const listener of this.#listeners) listener(runId)
  }

  #poll(onChange: (runId: string) => void): void {
    this.#polling ??= this.#pollNow(onChange).finally(() => (this.#polling = undefined))
  }

  async #pollNow(onChange: (runId: string) => void): Promise<void> {
    try {
      const { db, clock } = this.#context
      const before = new Map(this.#known)
      const startedAt = clock.now()
      // Starts at the last successful poll: other processes may have changed runs while the database was unavailable.
      const since = new Date(this.#polledAt.getTime() - slackMs)
      const recent = await listRecentStatuses(db, this, since)
      this.#polledAt = startedAt
      // News that arrived during the read is newer than its result.
      const meanwhile = [...this.#known].filter(([runId, status]) => before.get(runId) !== status)
      this.#known = new Map([...recent, ...meanwhile])
      for (const [runId, status] of recent) {
        if (before.get(runId) !== status && this.#known.get(runId) === status) onChange(runId)
      }
    } catch {
      // The database is unavailable. The next poll looks equally far back.
    }
  }
}

class RunWatcher extends PulledIterator<Run> {
  readonly #context: FollowContext & { readonly reach: Reach }
  readonly #feed: ChangeFeed
  readonly #since: Date
  readonly #filter: RunChangesFilter
  readonly #leave: () => void
  readonly #changed = new Set<string>()
  /**
   * Set while the runs that changed since `since` are read page by page. `after` is the last run of the previous page.
   */
  #catchUp: { readonly since: Date; readonly after: string | undefined } | undefined
  /** When the subscriber last had nothing left to send. */
  #caughtUpAt: Date
  readonly #loaded: Run[] = []

  constructor(
    context: FollowContext & { readonly reach: Reach },
    feed: ChangeFeed,
    { since, filter }: { readonly since: Date; readonly filter: RunChangesFilter },
    onRelease: () => void,
  ) {
    super()
    this.#context = context
    this.#feed = feed
    this.#since = since
    this.#filter = filter
    this.#catchUp = { since, after: undefined }
    this.#caughtUpAt = context.clock.now()
    const leave = feed.subscribe((runId) => {
      if (runId !== undefined && this.#changed.size < keptChanges) this.#changed.add(runId)
      else this.#startOver()
      this.wake()
    })
    this.#leave = () => {
      leave()
      onRelease()
    }
  }

  protected override release(): void {
    this.#leave()
  }

  protected override take(): Run | 'wait' | Promise<void> {
    const run = this.#loaded.shift()
    if (run) return run
    if (this.#catchUp) return this.#loadPage(this.#catchUp)
    if (this.#changed.size > 0) return this.#loadChanged()
    this.#caughtUpAt = this.#context.clock.now()
    return 'wait'
  }

  #startOver(): void {
    const since = new Date(Math.max(this.#since.getTime(), this.#caughtUpAt.getTime() - slackMs))
    // A catch-up in progress may have to go further back.
    const earlier = this.#catchUp && this.#catchUp.since < since ? this.#catchUp.since : since
    this.#catchUp = { since: earlier, after: undefined }
    this.#changed.clear()
  }

  async #loadPage(page: { readonly since: Date; readonly after: string | undefined }): Promise<void> {
    await this.#feed.ready()
    const runs = await this.read(() =>
      listChangedRuns(this.#context.db, this.#context.reach, { ...page, limit: pageSize }),
    )
    // Keeps the newer catch-up if this one was started over during the read.
    if (this.#catchUp === page) {
      this.#catchUp = runs.length < pageSize ? undefined : { since: page.since, after: runs.at(-1)?.id }
    }
    this.#push(runs)
  }

  async #loadChanged(): Promise<void> {
    const ids = [...this.#changed].slice(0, pageSize)
    for (const id of ids) this.#changed.delete(id)
    const runs = await this.read(() => findRuns(this.#context.db, this.#context.reach, ids))
    const byId = new Map(runs.map((run) => [run.id, run]))
    this.#push(ids.flatMap((id) => byId.get(id) ?? []))
  }

  #push(runs: readonly Run[]): void {
    const shown = runs.filter((run) => this.#isShown(run))
    this.#feed.sends(shown)
    this.#loaded.push(...shown)
  }

  #isShown(run: Run): boolean {
    const { agentIds, conversationId } = this.#filter
    return (
      (agentIds === undefined || agentIds.includes(run.agentId)) &&
      (conversationId === undefined || conversationId === run.conversationId)
    )
  }
}
