import type { Run } from '../domain/run.ts'
import { findRuns, listChangedRuns, listRecentStatuses } from '../store/runs.ts'
import type { FollowContext } from './follow-run.ts'
import type { Hub } from './hub.ts'
import { PulledIterator } from './pulled-iterator.ts'

export interface RunChangesFilter {
  readonly agentIds: readonly string[] | undefined
  readonly conversationId: string | undefined
}

const pageSize = 100
/** A subscriber that has this many runs to be sent forgets which, and reads what changed since instead. */
const keptChanges = 1_000
const pollMs = 1_000
/** Clocks of processes differ, and what is committed late was written earlier. */
const slackMs = 10_000

/**
 * The tenant's runs whose status changed since, as they are now, then each as it changes: at least once. A subscriber
 * keeps the ids of runs that changed and were not sent yet, each once, however often it changes meanwhile.
 */
export function watchRuns(
  context: FollowContext,
  tenantId: string,
  options: { readonly since: Date; readonly filter: RunChangesFilter },
): AsyncIterableIterator<Run> {
  const byTenant = feeds.get(context.hub) ?? new Map<string, ChangeFeed>()
  feeds.set(context.hub, byTenant)
  const feed = byTenant.get(tenantId) ?? new ChangeFeed(context, tenantId)
  byTenant.set(tenantId, feed)
  return new RunWatcher(context, feed, options, () => {
    if (feed.isIdle()) byTenant.delete(tenantId)
  })
}

/** By tenant, for as long as someone watches; of each hub, which stands for its process. */
const feeds = new WeakMap<Hub, Map<string, ChangeFeed>>()

/** Undefined: changes may have been missed. */
type ChangeListener = (runId: string | undefined) => void

/** What the subscribers of a tenant share: the news, and once a second a look at what nobody told. */
class ChangeFeed {
  readonly #context: FollowContext
  readonly tenantId: string
  readonly #listeners = new Set<ChangeListener>()
  #stopWatching: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #polling: Promise<void> | undefined
  /** The status that was last told of runs that changed lately. */
  #told = new Map<string, string>()

  constructor(context: FollowContext, tenantId: string) {
    this.#context = context
    this.tenantId = tenantId
  }

  isIdle(): boolean {
    return this.#listeners.size === 0
  }

  /** What is read after this cannot be older than what the feed takes as told. */
  async ready(): Promise<void> {
    await this.#polling
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
      if (news.status === null) return
      this.#told.set(news.runId, news.status)
      this.#tell(news.runId)
    })
    this.#timer = setInterval(() => this.#poll((runId) => this.#tell(runId)), pollMs)
    // What happened before anyone came is theirs to read.
    this.#poll(() => {})
  }

  #close(): void {
    this.#stopWatching?.()
    clearInterval(this.#timer)
    this.#told.clear()
  }

  #tell(runId: string | undefined): void {
    for (const listener of this.#listeners) listener(runId)
  }

  #poll(onChange: (runId: string) => void): void {
    this.#polling ??= this.#look(onChange).finally(() => (this.#polling = undefined))
  }

  async #look(onChange: (runId: string) => void): Promise<void> {
    try {
      const { db, clock } = this.#context
      const before = new Map(this.#told)
      const recent = await listRecentStatuses(db, this.tenantId, new Date(clock.now().getTime() - slackMs))
      // What was told while this was being read is newer than what was read.
      const meanwhile = [...this.#told].filter(([runId, status]) => before.get(runId) !== status)
      this.#told = new Map([...recent, ...meanwhile])
      for (const [runId, status] of recent) {
        if (before.get(runId) !== status && this.#told.get(runId) === status) onChange(runId)
      }
    } catch {
      // The database is away: the next look covers this one.
    }
  }
}

class RunWatcher extends PulledIterator<Run> {
  readonly #context: FollowContext
  readonly #feed: ChangeFeed
  readonly #since: Date
  readonly #filter: RunChangesFilter
  readonly #leave: () => void
  readonly #changed = new Set<string>()
  /** What changed since then is being read, page by page from the run after `after` on. */
  #catchUp: { readonly since: Date; readonly after: string | undefined } | undefined
  /** When it was last known that nothing was left to be read. */
  #caughtUpAt: Date
  readonly #loaded: Run[] = []

  constructor(
    context: FollowContext,
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
    // One that is under way for longer back goes on being needed.
    const earlier = this.#catchUp && this.#catchUp.since < since ? this.#catchUp.since : since
    this.#catchUp = { since: earlier, after: undefined }
    this.#changed.clear()
  }

  async #loadPage(page: { readonly since: Date; readonly after: string | undefined }): Promise<void> {
    await this.#feed.ready()
    const runs = await this.read(() =>
      listChangedRuns(this.#context.db, this.#feed.tenantId, { ...page, limit: pageSize }),
    )
    // Where it was told to start over meanwhile, that stands.
    if (this.#catchUp === page) {
      this.#catchUp = runs.length < pageSize ? undefined : { since: page.since, after: runs.at(-1)!.id }
    }
    this.#loaded.push(...runs.filter((run) => this.#isShown(run)))
  }

  async #loadChanged(): Promise<void> {
    const ids = [...this.#changed].slice(0, pageSize)
    for (const id of ids) this.#changed.delete(id)
    const runs = await this.read(() => findRuns(this.#context.db, this.#feed.tenantId, ids))
    const byId = new Map(runs.map((run) => [run.id, run]))
    this.#loaded.push(...ids.flatMap((id) => byId.get(id) ?? []).filter((run) => this.#isShown(run)))
  }

  #isShown(run: Run): boolean {
    const { agentIds, conversationId } = this.#filter
    return (
      (agentIds === undefined || agentIds.includes(run.agentId)) &&
      (conversationId === undefined || conversationId === run.conversationId)
    )
  }
}
