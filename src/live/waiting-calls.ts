import { listWaitingCallsOfRuns, listWaitingCallsPage, type WaitingCall } from '../store/tools/tool-calls.ts'
import { isTransientFailure } from '../store/database/transient-failure.ts'
import type { FollowContext } from './follow-run.ts'

export interface WaitingChange {
  readonly type: 'InboxAdded' | 'InboxRemoved'
  readonly call: WaitingCall
}

const pageSize = 500
/**
 * How many changes to keep for subscribers that are behind. A subscriber that is further behind starts over with a
 * snapshot.
 */
const keptChanges = 1_000
const pollMs = 1_000
/** Reading the whole list may take at most this share of the time, so a long list is polled less often. */
const pollShare = 0.05

/**
 * The waiting calls of a tenant and the latest changes to that list, shared by all subscribers of one process. News
 * names the run whose calls changed, and only that run is read again. The whole list is read, page by page, for a new
 * subscriber, after news may have been lost, and by a poll. The list has a version that counts its changes. A
 * subscriber remembers the version that its client has and asks for the changes since then, so it misses none and keeps
 * no queue.
 */
export class WaitingCalls {
  readonly #context: FollowContext
  readonly tenantId: string
  readonly #subscribers = new Set<() => void>()
  #stopWatching: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #isReading = false
  /** The runs to read again, and whether to read everything. */
  readonly #changedRuns = new Set<string>()
  #mustReadAll = false
  /** The number of readings of the whole list that have begun, and the last one that succeeded. */
  #begun = 0
  #succeeded = 0
  readonly #calls = new Map<string, WaitingCall>()
  readonly #changes: WaitingChange[] = []
  #version = 0
  #failure: Error | undefined

  constructor(context: FollowContext, tenantId: string) {
    this.#context = context
    this.tenantId = tenantId
  }

  isIdle(): boolean {
    return this.#subscribers.size === 0
  }

  /** Calls `wake` after each reading. `isReady` returns true once the list has been read after the subscription. */
  subscribe(wake: () => void): { isReady(): boolean; leave(): void } {
    if (this.isIdle()) this.#open()
    this.#subscribers.add(wake)
    const before = this.#begun
    this.#readAll()
    return {
      isReady: () => {
        if (this.#failure) throw this.#failure
        return this.#succeeded > before
      },
      leave: () => {
        this.#subscribers.delete(wake)
        if (this.isIdle()) this.#close()
      },
    }
  }

  get version(): number {
    return this.#version
  }

  /** Every call that waits, oldest first. */
  list(): WaitingCall[] {
    return [...this.#calls.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1))
  }

  /** The changes after a version, at most `limit` of them. Undefined if the version is too old. */
  changesAfter(version: number, limit: number): readonly WaitingChange[] | undefined {
    const from = version - (this.#version - this.#changes.length)
    return from < 0 ? undefined : this.#changes.slice(from, from + limit)
  }

  #open(): void {
    this.#stopWatching = this.#context.hub.watchTenant(this.tenantId, (news) => {
      if (!news) return this.#readAll()
      if (!news.calls || news.runId === null) return
      this.#changedRuns.add(news.runId)
      this.#read()
    })
  }

  #close(): void {
    this.#stopWatching?.()
    clearTimeout(this.#timer)
  }

  #readAll(): void {
    this.#mustReadAll = true
    this.#read()
  }

  /** Starts a reading unless one is in progress. Whatever is requested during a reading is read after it. */
  #read(): void {
    if (!this.#isReading) void this.#readUntilDone()
  }

  async #readUntilDone(): Promise<void> {
    this.#isReading = true
    while (!this.isIdle() && (this.#mustReadAll || this.#changedRuns.size > 0)) {
      try {
        if (this.#mustReadAll) await this.#readList()
        else await this.#readRuns()
      } catch (error) {
        // Subscribers keep the list that they have, and the next poll reads again.
        if (!isTransientFailure(error)) this.#failure = error as Error
        this.#pollIn(pollMs)
      }
      for (const wake of this.#subscribers) wake()
    }
    // Cleared in the same turn as the last check of the loop, so that no request can be added in between.
    this.#isReading = false
  }

  async #readList(): Promise<void> {
    const startedAt = performance.now()
    const reading = (this.#begun += 1)
    this.#mustReadAll = false
    const found = new Map<string, WaitingCall>()
    for (let after: string | undefined; ;) {
      const page = await listWaitingCallsPage(this.#context.db, this, { after, limit: pageSize })
      for (const call of page) found.set(call.id, call)
      if (page.length < pageSize) break
      after = page.at(-1)?.id
    }
    this.#replace([...this.#calls.values()], found)
    this.#succeeded = reading
    this.#pollIn(Math.max(pollMs, (performance.now() - startedAt) / pollShare))
  }

  async #readRuns(): Promise<void> {
    const runIds = new Set(this.#changedRuns)
    this.#changedRuns.clear()
    // If this fails, nobody knows any longer which runs changed, so the poll reads everything.
    const calls = await listWaitingCallsOfRuns(this.#context.db, this, [...runIds])
    const known = [...this.#calls.values()].filter(({ runId }) => runIds.has(runId))
    this.#replace(known, new Map(calls.map((call) => [call.id, call])))
  }

  /** Replaces the known calls with the given ones. */
  #replace(known: readonly WaitingCall[], found: ReadonlyMap<string, WaitingCall>): void {
    for (const call of known) if (!found.has(call.id)) this.#change({ type: 'InboxRemoved', call })
    for (const call of found.values()) {
      // A call that was claimed, or got one of several approvals, has a new version and is sent again.
      if (this.#calls.get(call.id)?.version !== call.version) this.#change({ type: 'InboxAdded', call })
    }
    this.#changes.splice(0, this.#changes.length - keptChanges)
  }

  #change(change: WaitingChange): void {
    const { type, call } = change
    if (type === 'InboxAdded') this.#calls.set(call.id, call)
    else this.#calls.delete(call.id)
    this.#changes.push(change)
    this.#version += 1
  }

  #pollIn(delayMs: number): void {
    clearTimeout(this.#timer)
    if (!this.isIdle()) this.#timer = setTimeout(() => this.#readAll(), delayMs)
  }
}
