import { pieceBeyond, type LivePosition } from '../domain/runs/live-step.ts'
import type { Log } from '../util/log.ts'
import type { Bus } from './bus.ts'
import type { Hub, HubInlet, HubLink, TopicKind } from './hub.ts'
import { numberOf, packMessages, senderOf, unpackMessages, type RelayMessage } from './relay-messages.ts'
import { StepCopy, toPatch, type Patch } from './step-copy.ts'

/**
 * The maximum text of one patch in UTF-16 units. It fits a payload even if every unit takes three bytes or is escaped.
 */
const patchSize = 1_200
/** How many patches are sent to one process at a time, so that a long text does not delay the others. */
const patchesAtOnce = 16
/** How long messages are collected before they are sent. The window grows with the number of messages. */
const windowMs = { least: 2, most: 20 } as const
/** How long to wait in silence before sending `follow` again. Doubles while nothing arrives. */
const silenceMs = { first: 200, most: 5_000 } as const
const tickMs = 100
/** How long a process may be silent before it and its interests are forgotten. */
const interestMs = 15_000
const presenceMs = 5_000
/**
 * When to look a second time for entries that were stored after a reader's first read, but before other processes knew
 * about the reader.
 */
const secondLookMs = 50

/** Another process follows a run, and has its live step up to `position`; or it watches a conversation or tenant. */
interface Interest {
  until: number
  seq: number
  position: LivePosition
}

/** A run that has readers in this process. */
interface Followed {
  /** Undefined until text from another process has arrived. */
  copy: StepCopy | undefined
  askAt: number
  silence: number
}

export interface RelayOptions {
  readonly bus: Bus
  readonly hub: Hub
  readonly log: Log
  /** Called with the time that the bus took to return this process's own message. */
  readonly onDelay?: (seconds: number) => void
}

/**
 * Joins the hubs of several processes with the protocol in `relay-messages.ts`. Writers send only what readers have
 * asked for, so nothing is sent that nobody reads, and a process that is alone sends a single message.
 */
export class Relay {
  readonly #bus: Bus
  readonly #hub: HubInlet
  readonly #log: Log
  readonly #now: () => number
  /** The addresses of other processes, and until when each counts as alive. */
  readonly #peers = new Map<string, number>()
  /** What other processes follow or watch, by topic and address. */
  readonly #interests = new Map<string, Map<string, Interest>>()
  readonly #followed = new Map<string, Followed>()
  /** The conversations and tenants that are watched here, with the time to send `watch` again. */
  readonly #watched = new Map<string, number>()
  /** Messages to send, by address. Those for all processes are under undefined. */
  readonly #outbox = new Map<string | undefined, RelayMessage[]>()
  /** Runs with text that some process that follows them has not been sent yet. */
  readonly #written = new Set<string>()
  #timers: NodeJS.Timeout[] = []
  #flushTimer: NodeJS.Timeout | undefined
  #sending: Promise<void> | undefined
  #windowMs: number = windowMs.least
  #number = 0
  #stopped = false
  /** Whether the last attempt to send failed. Only the first failure in a row is logged. */
  #cannotSend = false
  /** When the last payload for all processes was sent, and its number, until it comes back here. */
  #sent: { readonly number: number; readonly at: number } | undefined
  readonly #onDelay: (seconds: number) => void

  constructor({ bus, hub, log, onDelay = () => {} }: RelayOptions) {
    this.#bus = bus
    this.#log = log
    this.#onDelay = onDelay
    this.#now = () => performance.now()
    this.#hub = hub.connect(this.#link())
  }

  async start(): Promise<void> {
    // Before the bus is opened: the relay may be stopped meanwhile.
    this.#timers = [setInterval(() => this.#askAgain(), tickMs), setInterval(() => this.#showPresence(), presenceMs)]
    await this.#bus.open({ receive: (payload) => this.#receive(payload), connected: () => this.#onConnected() })
  }

  async stop(): Promise<void> {
    if (this.#stopped) return
    for (const timer of this.#timers) clearInterval(timer)
    this.#post(undefined, { type: 'bye' })
    this.#stopped = true
    clearTimeout(this.#flushTimer)
    await this.#sending
    await this.#send()
    await this.#bus.close()
  }

  // ── what this process wants and does ──

  #link(): HubLink {
    return {
      topicOpened: (topic, kind) => this.#open(topic, kind),
      topicClosed: (topic) => {
        this.#followed.delete(topic)
        this.#watched.delete(topic)
      },
      textWritten: (runId) => {
        if (!this.#interests.has(runId)) return
        this.#written.add(runId)
        this.#flushSoon()
      },
      entriesStored: (runId, seq) => this.#postToInterested([runId], { type: 'stored', run: runId, seq: seq ?? 0 }),
      pollFound: (runId) => this.#expectText(runId),
      announced: (news) => this.#postToInterested([news.conversationId, news.tenantId], { type: 'news', news }),
      stopRequested: (runId) => this.#post(undefined, { type: 'stop', run: runId }),
      progressed: (run, call, progress) =>
        this.#post(undefined, { type: 'progress', run, call, progress: progress ?? null }),
    }
  }

  #open(topic: string, kind: TopicKind): void {
    if (kind === 'news') this.#watched.set(topic, 0)
    else this.#followed.set(topic, { copy: undefined, askAt: 0, silence: silenceMs.first })
    if (this.#peers.size === 0) return
    this.#introduce(topic, kind)
    const timer = setTimeout(() => {
      if (kind === 'news') this.#hub.newsLost(topic)
      else this.#hub.entriesStored(topic, undefined)
    }, secondLookMs)
    timer.unref()
  }

  #introduce(topic: string, kind: TopicKind): void {
    const followed = this.#followed.get(topic)
    if (kind === 'news') this.#watch(topic)
    else if (followed && !this.#hub.isDrivenHere(topic)) this.#ask(topic, followed)
  }

  #watch(topic: string): void {
    this.#watched.set(topic, this.#now() + silenceMs.most)
    this.#post(undefined, { type: 'watch', topic })
  }

  #ask(runId: string, followed: Followed): void {
    const { copy } = followed
    followed.askAt = this.#now() + followed.silence
    followed.silence = Math.min(followed.silence * 2, silenceMs.most)
    const position = copy?.position ?? { item: 0, offset: 0 }
    this.#post(undefined, { type: 'follow', run: runId, seq: copy?.seq ?? 0, ...position })
  }

  #askAgain(): void {
    if (this.#peers.size === 0) return
    const now = this.#now()
    for (const [runId, followed] of this.#followed) {
      if (followed.askAt <= now && !this.#hub.isDrivenHere(runId)) this.#ask(runId, followed)
    }
    for (const [topic, again] of this.#watched) if (again <= now) this.#watch(topic)
  }

  #expectText(runId: string): void {
    const followed = this.#followed.get(runId)
    if (!followed) return
    followed.silence = silenceMs.first
    followed.askAt = Math.min(followed.askAt, this.#now() + silenceMs.first)
  }

  #showPresence(): void {
    const now = this.#now()
    for (const [address, until] of this.#peers) if (until < now) this.#peers.delete(address)
    for (const [topic, interests] of this.#interests) {
      for (const [address, { until }] of interests) if (until < now) interests.delete(address)
      if (interests.size === 0) this.#interests.delete(topic)
    }
    if (this.#peers.size > 0) this.#post(undefined, { type: 'here' })
  }

  // ── what other processes say ──

  /**
   * Introduces this process and asks for text again. The poll finds entries that were stored while the bus was not
   * connected.
   */
  #onConnected(): void {
    this.#outbox.set(undefined, [{ type: 'hello' }, ...(this.#outbox.get(undefined) ?? [])])
    this.#flushSoon()
    for (const [topic, kind] of this.#hub.topics()) this.#introduce(topic, kind)
  }

  #receive(payload: string): void {
    const from = senderOf(payload)
    if (from === undefined) return
    if (from === this.#bus.address) return this.#measure(payload)
    const messages = unpackMessages(payload)
    if (!messages) return
    const isNew = !this.#peers.has(from)
    this.#peers.set(from, this.#now() + interestMs)
    for (const message of messages) this.#handle(from, message)
    // Tells a new process what this one follows and watches.
    if (isNew && this.#peers.has(from)) for (const [topic, kind] of this.#hub.topics()) this.#introduce(topic, kind)
  }

  /** The clocks of two machines differ, so the bus is measured by what comes back to its sender. */
  #measure(payload: string): void {
    if (this.#sent?.number !== numberOf(payload)) return
    this.#onDelay((this.#now() - this.#sent.at) / 1000)
    this.#sent = undefined
  }

  #handle(from: string, message: RelayMessage): void {
    switch (message.type) {
      case 'hello':
        return this.#post(from, { type: 'here' })
      case 'here':
        return
      case 'bye':
        this.#peers.delete(from)
        for (const interests of this.#interests.values()) interests.delete(from)
        return
      case 'follow': {
        const { run, seq, item, offset } = message
        this.#addInterest(run, from, seq, { item, offset })
        this.#written.add(run)
        return this.#flushSoon()
      }
      case 'watch':
        return this.#addInterest(message.topic, from, 0, { item: 0, offset: 0 })
      case 'text':
        return this.#onText(message.run, message.patch)
      case 'stored':
        this.#expectText(message.run)
        return this.#hub.entriesStored(message.run, message.seq === 0 ? undefined : message.seq)
      case 'news':
        return this.#hub.announced(message.news)
      case 'stop':
        return this.#hub.stopRequested(message.run)
      case 'progress':
        return this.#hub.progressed(message.run, message.call, message.progress ?? undefined)
      default:
        message satisfies never
    }
  }

  #addInterest(topic: string, address: string, seq: number, position: LivePosition): void {
    const interests = this.#interests.get(topic) ?? new Map<string, Interest>()
    this.#interests.set(topic, interests.set(address, { until: this.#now() + interestMs, seq, position }))
  }

  #onText(runId: string, patch: Patch): void {
    const followed = this.#followed.get(runId)
    if (!followed) return
    const { copy } = followed
    // A worker that was replaced must not write into its successor's text.
    if (copy && patch.seq < copy.seq) return
    const current = copy?.seq === patch.seq ? copy : new StepCopy(patch)
    followed.copy = current
    followed.silence = silenceMs.first
    followed.askAt = this.#now() + silenceMs.first
    if (!current.apply(patch)) followed.askAt = 0
    // Readers get the text after the entry of its step, which may not have arrived here yet.
    if (current !== copy) this.#hub.entriesStored(runId, patch.seq)
    this.#hub.setCopy(runId, current)
  }

  // ── sending ──

  #postToInterested(topics: readonly string[], message: RelayMessage): void {
    const addresses = new Set(topics.flatMap((topic) => [...(this.#interests.get(topic)?.keys() ?? [])]))
    for (const address of addresses) this.#post(address, message)
  }

  #post(to: string | undefined, message: RelayMessage): void {
    if (this.#peers.size === 0 || this.#stopped) return
    const messages = this.#outbox.get(to)
    if (messages) messages.push(message)
    else this.#outbox.set(to, [message])
    this.#flushSoon()
  }

  #flushSoon(): void {
    if (this.#stopped || this.#flushTimer || this.#sending) return
    this.#flushTimer = setTimeout(() => {
      this.#flushTimer = undefined
      this.#sending = this.#send().finally(() => {
        this.#sending = undefined
        if (this.#outbox.size > 0 || this.#written.size > 0) this.#flushSoon()
      })
    }, this.#windowMs)
  }

  async #send(): Promise<void> {
    for (const runId of this.#written) if (!this.#postText(runId)) this.#written.delete(runId)
    const packing = { payloadLimit: this.#bus.payloadLimit, nextNumber: () => (this.#number += 1) }
    const packets = [...this.#outbox].flatMap(([to, messages]) =>
      packMessages(this.#bus.address, messages, packing).map((payload) => ({ to, payload })),
    )
    const count = [...this.#outbox.values()].reduce((sum, messages) => sum + messages.length, 0)
    this.#windowMs = Math.min(windowMs.most, windowMs.least + count / 20)
    this.#outbox.clear()
    if (packets.length === 0) return
    const toAll = packets.findLast(({ to }) => to === undefined)
    if (toAll) this.#sent = { number: numberOf(toAll.payload), at: this.#now() }
    try {
      await this.#bus.send(packets)
      this.#cannotSend = false
    } catch (error) {
      if (!this.#cannotSend) this.#log.warn({ err: error }, 'sending to other processes failed; they will ask again')
      this.#cannotSend = true
    }
  }

  /** Posts the text that the following processes do not have yet. Returns true if there is more to send. */
  #postText(runId: string): boolean {
    const step = this.#hub.ownStep(runId)
    if (!step) return false
    let more = false
    for (const [address, interest] of this.#interests.get(runId) ?? []) {
      if (interest.seq !== step.seq) Object.assign(interest, { seq: step.seq, position: { item: 0, offset: 0 } })
      const messages = this.#outbox.get(address) ?? []
      let pieces = 0
      for (;;) {
        const piece = pieceBeyond(step.items, interest.position)
        if (!piece) break
        if ((pieces += 1) > patchesAtOnce) {
          more = true
          break
        }
        const patch = toPatch(step, piece, patchSize)
        const { item, offset, text, complete } = patch
        interest.position = complete ? { item: item + 1, offset: 0 } : { item, offset: offset + text.length }
        messages.push({ type: 'text', run: runId, patch })
      }
      if (messages.length > 0) this.#outbox.set(address, messages)
    }
    return more
  }
}
