import type { ToolCallNeed, ToolCallOutline } from '../domain/tool-call.ts'
import { findToolCalls, listWaitingCalls, type WaitingCall } from '../store/tool-calls.ts'
import { isTransientFailure } from '../store/transient-failure.ts'
import type { FollowContext } from './follow-run.ts'
import type { Hub } from './hub.ts'
import { PulledIterator } from './pulled-iterator.ts'

export type InboxEvent =
  | { readonly type: 'InboxSnapshot'; readonly toolCalls: readonly ToolCallOutline[]; readonly totalCount: number }
  | { readonly type: 'InboxAdded' | 'InboxRemoved'; readonly toolCall: ToolCallOutline }

export interface InboxFilter {
  readonly agentIds: readonly string[] | undefined
  readonly needs: readonly ToolCallNeed[]
}

type Waiting = ReadonlyMap<string, WaitingCall>

/** A snapshot lists so many; what else waits follows one by one. */
const listed = 200
const loadedAtOnce = 50
const pollMs = 1_000

/**
 * Who watches what waits in a tenant shares one list of it, read anew when something happened, and once a second in
 * case nobody said so. Each reading is a map that never changes: a subscriber holds the one whose contents its client
 * has, and is sent the difference to the latest, so it never misses a change and keeps no queue.
 */
export function watchInbox(
  context: FollowContext,
  tenantId: string,
  filter: InboxFilter,
): AsyncIterableIterator<InboxEvent> {
  const byTenant = inboxes.get(context.hub) ?? new Map<string, SharedInbox>()
  inboxes.set(context.hub, byTenant)
  const shared = byTenant.get(tenantId) ?? new SharedInbox(context, tenantId)
  byTenant.set(tenantId, shared)
  return new InboxWatcher(context, shared, filter, () => {
    if (shared.isIdle()) byTenant.delete(tenantId)
  })
}

/** By tenant, for as long as someone watches; of each hub, which stands for its process. */
const inboxes = new WeakMap<Hub, Map<string, SharedInbox>>()

class SharedInbox {
  readonly #context: FollowContext
  readonly tenantId: string
  readonly #subscribers = new Set<() => void>()
  #stopWatching: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #reading: Promise<void> | undefined
  #again = false
  /** How often it was read from the beginning of its present use. */
  #readings = 0
  #waiting: Waiting | undefined
  #failure: unknown

  constructor(context: FollowContext, tenantId: string) {
    this.#context = context
    this.tenantId = tenantId
  }

  isIdle(): boolean {
    return this.#subscribers.size === 0
  }

  /** Calls `wake` after each reading. A subscriber waits for one that began after it came. */
  subscribe(wake: () => void): { readonly since: number; leave(): void } {
    if (this.isIdle()) this.#open()
    this.#subscribers.add(wake)
    const since = this.#readings + (this.#reading ? 1 : 0)
    this.#read()
    return {
      since,
      leave: () => {
        this.#subscribers.delete(wake)
        if (this.isIdle()) this.#close()
      },
    }
  }

  /** What waits, by a reading later than the `since`-th; throws where it failed. */
  latest(since: number): Waiting | undefined {
    if (this.#failure !== undefined) throw this.#failure as Error
    return this.#readings > since ? this.#waiting : undefined
  }

  #open(): void {
    this.#failure = undefined
    this.#stopWatching = this.#context.hub.watchTenant(this.tenantId, (news) => {
      if (!news || news.calls) this.#read()
    })
    this.#timer = setInterval(() => this.#read(), pollMs)
  }

  #close(): void {
    this.#stopWatching?.()
    clearInterval(this.#timer)
  }

  /** One reading at a time; news that comes while one is under way makes another. */
  #read(): void {
    this.#again = this.#reading !== undefined
    this.#reading ??= this.#readNow().finally(() => {
      this.#reading = undefined
      if (this.#again && !this.isIdle()) this.#read()
    })
  }

  async #readNow(): Promise<void> {
    try {
      const calls = await listWaitingCalls(this.#context.db, this.tenantId)
      const known = this.#waiting
      const changed = !known || known.size !== calls.length || calls.some((call) => !isKnown(known, call))
      if (changed) this.#waiting = new Map(calls.map((call) => [call.id, call]))
      this.#readings += 1
    } catch (error) {
      // The next reading, a second from now, makes up for one that found the database unavailable.
      if (!isTransientFailure(error)) this.#failure = error
    }
    for (const wake of this.#subscribers) wake()
  }
}

class InboxWatcher extends PulledIterator<InboxEvent> {
  readonly #context: FollowContext
  readonly #shared: SharedInbox
  readonly #filter: InboxFilter
  readonly #subscription: ReturnType<SharedInbox['subscribe']>
  readonly #onRelease: () => void
  /** What the client has been told of, once all of `#changes` is delivered. */
  #told: Waiting | undefined
  #changes: Iterator<Change> | undefined
  readonly #loaded: InboxEvent[] = []

  constructor(context: FollowContext, shared: SharedInbox, filter: InboxFilter, onRelease: () => void) {
    super()
    this.#context = context
    this.#shared = shared
    this.#filter = filter
    this.#onRelease = onRelease
    this.#subscription = shared.subscribe(() => this.wake())
  }

  protected override release(): void {
    this.#subscription.leave()
    this.#onRelease()
  }

  protected override take(): InboxEvent | 'wait' | Promise<void> {
    const event = this.#loaded.shift()
    if (event) return event
    if (this.#changes) return this.#loadChanges(this.#changes)
    const latest = this.#shared.latest(this.#subscription.since)
    if (!latest || latest === this.#told) return 'wait'
    if (!this.#told) return this.#loadSnapshot(latest)
    this.#changes = differences(this.#told, latest, (call) => this.#isShown(call))
    this.#told = latest
    return this.#loadChanges(this.#changes)
  }

  #isShown({ agentId, needs }: WaitingCall): boolean {
    const { agentIds, needs: wanted } = this.#filter
    return wanted.includes(needs) && (agentIds === undefined || agentIds.includes(agentId))
  }

  async #loadSnapshot(latest: Waiting): Promise<void> {
    const ids = [...latest.values()].filter((call) => this.#isShown(call)).map((call) => call.id)
    const loaded = await this.#load(ids.slice(0, listed))
    // Some may have been decided since the list was read; that they wait no longer is told once more with the next.
    const toolCalls = loaded.filter((call) => call.status === 'PENDING')
    this.#told = latest
    this.#loaded.push({ type: 'InboxSnapshot', toolCalls, totalCount: ids.length - loaded.length + toolCalls.length })
    this.#changes = ids
      .slice(listed)
      .map((id): Change => ({ type: 'InboxAdded', id }))
      .values()
  }

  async #loadChanges(changes: Iterator<Change>): Promise<void> {
    const taken: Change[] = []
    while (taken.length < loadedAtOnce) {
      const { done, value } = changes.next()
      if (done) {
        this.#changes = undefined
        break
      }
      taken.push(value)
    }
    if (taken.length === 0) return
    const calls = new Map((await this.#load(taken.map(({ id }) => id))).map((call) => [call.id, call]))
    // A call that was deleted with its agent cannot be shown as removed: the client is told everything anew.
    if (taken.some(({ id, type }) => type === 'InboxRemoved' && !calls.has(id))) {
      this.#changes = undefined
      return this.#loadSnapshot(this.#told!)
    }
    for (const { id, type } of taken) {
      const toolCall = calls.get(id)
      if (toolCall) this.#loaded.push({ type, toolCall })
    }
  }

  async #load(ids: readonly string[]): Promise<ToolCallOutline[]> {
    if (ids.length === 0) return []
    const calls = await this.read(() => findToolCalls(this.#context.db, this.#shared.tenantId, ids))
    const byId = new Map(calls.map((call) => [call.id, call]))
    return ids.flatMap((id) => byId.get(id) ?? [])
  }
}

interface Change {
  readonly type: 'InboxAdded' | 'InboxRemoved'
  readonly id: string
}

function* differences(
  from: Waiting,
  to: Waiting,
  isShown: (call: WaitingCall) => boolean,
): Generator<Change, undefined> {
  for (const call of from.values()) if (!to.has(call.id) && isShown(call)) yield { type: 'InboxRemoved', id: call.id }
  for (const call of to.values()) if (!isKnown(from, call) && isShown(call)) yield { type: 'InboxAdded', id: call.id }
  return undefined
}

/** As it is: a call that was claimed, or got one of several approvals, is another. */
function isKnown(waiting: Waiting, { id, version }: WaitingCall): boolean {
  return waiting.get(id)?.version === version
}
