import type { ToolCallNeed, ToolCallOutline } from '../domain/tools/tool-call.ts'
import { isWithin, type Reach } from '../domain/access/viewer.ts'
import { findToolCalls, type WaitingCall } from '../store/tools/tool-calls.ts'
import type { FollowContext } from './follow-run.ts'
import type { Hub } from './hub.ts'
import { PulledIterator } from './pulled-iterator.ts'
import { WaitingCalls, type WaitingChange } from './waiting-calls.ts'

export type InboxEvent =
  | { readonly type: 'InboxSnapshot'; readonly toolCalls: readonly ToolCallOutline[]; readonly totalCount: number }
  | { readonly type: WaitingChange['type']; readonly toolCall: ToolCallOutline }

export interface InboxFilter {
  readonly agentIds: readonly string[] | undefined
  readonly needs: readonly ToolCallNeed[]
}

/** How many calls a snapshot lists. The rest follow one by one. */
const listed = 200
const loadedAtOnce = 50

/** Sends a snapshot of the calls within reach that wait, then each change. */
export function watchInbox(
  context: FollowContext,
  reach: Reach,
  filter: InboxFilter,
): AsyncIterableIterator<InboxEvent> {
  const { tenantId } = reach
  const byTenant = inboxes.get(context.hub) ?? new Map<string, WaitingCalls>()
  inboxes.set(context.hub, byTenant)
  const waiting = byTenant.get(tenantId) ?? new WaitingCalls(context, tenantId)
  byTenant.set(tenantId, waiting)
  return new InboxWatcher({ ...context, reach }, waiting, filter, () => {
    if (waiting.isIdle()) byTenant.delete(tenantId)
  })
}

/** The lists that have subscribers, by tenant. There is one hub per process. */
const inboxes = new WeakMap<Hub, Map<string, WaitingCalls>>()

/**
 * Waits until the list has been read, sends the snapshot, then the calls that the snapshot left out, then the changes
 * since the snapshot's version. Starts over with a snapshot if it is too far behind, or if a removed call has been
 * deleted and can no longer be shown.
 */
class InboxWatcher extends PulledIterator<InboxEvent> {
  readonly #context: FollowContext & { readonly reach: Reach }
  readonly #waiting: WaitingCalls
  readonly #filter: InboxFilter
  readonly #subscription: ReturnType<WaitingCalls['subscribe']>
  readonly #onRelease: () => void
  /**
   * The version that the client will have once `#unlisted` and `#loaded` are delivered. Undefined before the snapshot.
   */
  #version: number | undefined
  /** The calls that the snapshot left out, newest first. */
  #unlisted: WaitingCall[] = []
  readonly #loaded: InboxEvent[] = []

  constructor(
    context: FollowContext & { readonly reach: Reach },
    waiting: WaitingCalls,
    filter: InboxFilter,
    onRelease: () => void,
  ) {
    super()
    this.#context = context
    this.#waiting = waiting
    this.#filter = filter
    this.#onRelease = onRelease
    this.#subscription = waiting.subscribe(() => this.wake())
  }

  protected override release(): void {
    this.#subscription.leave()
    this.#onRelease()
  }

  protected override take(): InboxEvent | 'wait' | Promise<void> {
    const event = this.#loaded.shift()
    if (event) return event
    if (this.#unlisted.length > 0) return this.#loadUnlisted()
    if (!this.#subscription.isReady()) return 'wait'
    const version = this.#version
    const changes = version === undefined ? undefined : this.#waiting.changesAfter(version, loadedAtOnce)
    if (version === undefined || !changes) return this.#loadSnapshot()
    if (changes.length === 0) return 'wait'
    this.#version = version + changes.length
    return this.#loadChanges(changes.filter(({ call }) => this.#isShown(call)))
  }

  #isShown(call: WaitingCall): boolean {
    const { agentIds, needs } = this.#filter
    if (!needs.includes(call.needs) || !isWithin(this.#context.reach, call)) return false
    return agentIds === undefined || agentIds.includes(call.agentId)
  }

  async #loadSnapshot(): Promise<void> {
    const shown = this.#waiting.list().filter((call) => this.#isShown(call))
    this.#version = this.#waiting.version
    const loaded = await this.#load(shown.slice(0, listed))
    // A call may have been decided since the list was read. Its removal is sent as a change, too.
    const toolCalls = loaded.filter((call) => call.status === 'PENDING')
    this.#loaded.push({ type: 'InboxSnapshot', toolCalls, totalCount: shown.length - loaded.length + toolCalls.length })
    this.#unlisted = shown.slice(listed).toReversed()
  }

  #loadUnlisted(): Promise<void> {
    const next = this.#unlisted.splice(-loadedAtOnce).toReversed()
    return this.#loadChanges(next.map((call) => ({ type: 'InboxAdded', call })))
  }

  async #loadChanges(changes: readonly WaitingChange[]): Promise<void> {
    const calls = new Map((await this.#load(changes.map(({ call }) => call))).map((call) => [call.id, call]))
    if (changes.some(({ type, call }) => type === 'InboxRemoved' && !calls.has(call.id))) {
      this.#unlisted = []
      this.#version = undefined
      return
    }
    for (const { type, call } of changes) {
      const toolCall = calls.get(call.id)
      if (toolCall) this.#loaded.push({ type, toolCall })
    }
  }

  async #load(waiting: readonly WaitingCall[]): Promise<ToolCallOutline[]> {
    if (waiting.length === 0) return []
    const ids = waiting.map(({ id }) => id)
    const calls = await this.read(() => findToolCalls(this.#context.db, this.#context.reach, ids))
    const byId = new Map(calls.map((call) => [call.id, call]))
    return ids.flatMap((id) => byId.get(id) ?? [])
  }
}
