import type { Checkpoint } from '../domain/runs/draft.ts'
import type { ShownStep } from '../domain/runs/live-step.ts'
import { toEntryEvents } from '../domain/runs/run-event.ts'
import { newsOf, type RunNews } from '../domain/runs/run-news.ts'
import type { ConversationState } from '../store/conversations/conversation-heads.ts'
import type { ToolCallProgress } from '../domain/tools/tool-call.ts'
import { createTicks } from '../util/ticks.ts'
import { CallProgress } from './call-progress.ts'
import { Listeners } from './listeners.ts'
import { LiveSteps } from './live-steps.ts'
import { RunTail } from './run-tail.ts'
import { SharedReads } from './shared-reads.ts'

/** Why a run's readers are woken: entries were stored, or text was written. */
export type WakeUp = 'stored' | 'live'

/** Called with undefined when news may have been lost: look at everything. */
export type NewsListener = (news: RunNews | undefined) => void

/** What a hub tells the link to other processes. A topic is the id of a run, a conversation or a tenant. */
export interface HubLink {
  /** The topic has its first listener in this process. */
  topicOpened(topic: string, kind: TopicKind): void
  /** The topic has lost its last listener in this process. */
  topicClosed(topic: string): void
  textWritten(runId: string): void
  /** A call reported its progress, or has ended, which is undefined. */
  progressed(runId: string, callId: string, progress: ToolCallProgress | undefined): void
  /** This process stored entries up to `seq`, or unknown entries if `seq` is undefined. */
  entriesStored(runId: string, seq: number | undefined): void
  /** The poll found entries that another process stored: text may follow. */
  pollFound(runId: string): void
  announced(news: RunNews): void
  /** A run that this process does not drive must stop. */
  stopRequested(runId: string): void
}

/** Readers follow a run; watchers want news of a conversation or a tenant. */
export type TopicKind = 'run' | 'news'

/** Called with what this process did, for logs and metrics. */
export interface HubObserver {
  checkpointStored(checkpoint: Checkpoint): void
  /** A change that no checkpoint describes. */
  announced(news: RunNews): void
}

/**
 * Where the writers and the readers of one process meet. It has four parts:
 *
 * - Live steps: the text that a model is writing exists once, here.
 * - Wake-ups tell the readers of a run to look again. They carry nothing but the reason, so they may be lost or
 *   repeated, and a writer never waits for a reader.
 * - News tells the watchers of a conversation or a tenant which run changed.
 * - Stop requests tell the worker that drives a run that a cancel was stored.
 *
 * A link to other processes, if there is one, hears what happens here and passes on what happens there.
 */
export class Hub {
  readonly #observer: HubObserver | undefined
  #link: HubLink | undefined
  readonly #steps = new LiveSteps()
  readonly #progress = new CallProgress()
  readonly #tails = new Map<string, RunTail>()
  readonly #readers = new Listeners<WakeUp>({
    onFirst: (runId) => {
      this.#tails.set(runId, new RunTail(() => this.#readers.call(runId, 'stored')))
      this.#link?.topicOpened(runId, 'run')
    },
    onLast: (runId) => {
      this.#tails.delete(runId)
      this.#steps.dropCopy(runId)
      this.#link?.topicClosed(runId)
    },
  })
  readonly #watcherHooks = {
    onFirst: (topic: string) => this.#link?.topicOpened(topic, 'news'),
    onLast: (topic: string) => this.#link?.topicClosed(topic),
  }
  readonly #conversations = new Listeners<RunNews | ConversationState | undefined>(this.#watcherHooks)
  readonly #tenants = new Listeners<RunNews | undefined>(this.#watcherHooks)
  readonly #stops = new Listeners()
  readonly #waits = new Set<() => void>()
  #waitsEnded = false
  #settingsVersion = 0
  /** Readers send text at most once per tick of the event loop: the busier the process, the more text per event. */
  readonly ticks = createTicks()
  /** Reads that the readers of one run or conversation want at the same moment. */
  readonly reads = new SharedReads(this.ticks)

  constructor(observer?: HubObserver) {
    this.#observer = observer
  }

  // ── live steps ──

  /** The step of the run that is being written, here or elsewhere, as far as this process knows. */
  liveStep(runId: string): ShownStep | undefined {
    return this.#steps.get(runId)
  }

  /** This process writes the run's step from now on. */
  setLiveStep(runId: string, step: ShownStep): void {
    this.#steps.setOwn(runId, step)
  }

  /** Does nothing if another step has taken this one's place. */
  endLiveStep(runId: string, step: ShownStep): void {
    this.#steps.endOwn(runId, step)
  }

  /** Text was added to the run's live step. */
  textWritten(runId: string): void {
    this.#link?.textWritten(runId)
    this.#readers.call(runId, 'live')
  }

  // ── progress of calls ──

  /** What the running calls of the run last reported, by call. */
  progressOf(runId: string): ReadonlyMap<string, ToolCallProgress> | undefined {
    return this.#progress.of(runId)
  }

  /** A call that runs in this process reported its progress, or has ended, which is undefined. */
  progressed(runId: string, callId: string, progress: ToolCallProgress | undefined): void {
    this.#progressed(runId, callId, progress)
    this.#link?.progressed(runId, callId, progress)
  }

  #progressed(runId: string, callId: string, progress: ToolCallProgress | undefined): void {
    this.#progress.set(runId, callId, progress)
    if (progress) this.#readers.call(runId, 'live')
  }

  // ── readers of runs ──

  /** Calls `listener` for every wake-up of the run's readers, until the returned function is called. */
  listen(runId: string, listener: (wakeUp: WakeUp) => void): () => void {
    return this.#readers.add(runId, listener)
  }

  /** The runs that have readers in this process. */
  runsWithReaders(): string[] {
    return this.#readers.keys()
  }

  /** How many readers and watchers this process has. */
  subscriberCount(): number {
    return this.#readers.count() + this.#conversations.count() + this.#tenants.count()
  }

  /** What the readers of a run share. Undefined while the run has no readers. */
  tail(runId: string): RunTail | undefined {
    return this.#tails.get(runId)
  }

  /** This process committed a checkpoint. Readers get its entries without a read from the database. */
  checkpointStored(checkpoint: Checkpoint): void {
    const { before, after, at, entries, blocks } = checkpoint
    if (blocks.length > 0) this.#settingsVersion += 1
    const tail = this.#tails.get(after.id)
    if (tail) {
      tail.add(toEntryEvents(after, { firstSeq: before.nextSeq, at, entries }))
      tail.lastCheckpoint = checkpoint
    }
    this.#readers.call(after.id, 'stored')
    this.#link?.entriesStored(after.id, after.nextSeq - 1)
    const news = newsOf(checkpoint)
    if (news.status !== null || news.calls) this.#announce(news)
    this.#observer?.checkpointStored(checkpoint)
  }

  /** This process changed or deleted the run in a way that no checkpoint describes. */
  runChanged(runId: string): void {
    this.#entriesStored(runId, undefined)
    this.#link?.entriesStored(runId, undefined)
  }

  /** The poll found that the run's log reaches up to `seq`. */
  pollFound(runId: string, seq: number): void {
    const tail = this.#tails.get(runId)
    if (!tail || seq <= tail.lastSeq) return
    this.#entriesStored(runId, seq)
    this.#link?.pollFound(runId)
  }

  #entriesStored(runId: string, seq: number | undefined): void {
    this.#tails.get(runId)?.announce(seq)
    this.#readers.call(runId, 'stored')
  }

  // ── watchers of conversations and tenants ──

  /** `knows` tells whether the watcher knows a state that the poll found. */
  watchConversation(
    conversationId: string,
    listener: NewsListener,
    knows: (state: ConversationState) => boolean = () => true,
  ): () => void {
    return this.#conversations.add(conversationId, (news) => {
      if (!news || !('tip' in news)) listener(news)
      else if (!knows(news)) listener(undefined)
    })
  }

  watchTenant(tenantId: string, listener: NewsListener): () => void {
    return this.#tenants.add(tenantId, listener)
  }

  /** The conversations that have watchers in this process. */
  watchedConversations(): string[] {
    return this.#conversations.keys()
  }

  /** Tells watchers of a change that no checkpoint describes: a run was accepted, or is to be cancelled. */
  announce(news: RunNews): void {
    this.#announce(news)
    this.#observer?.announced(news)
  }

  /** The poll found this state of the conversation. Undefined if more may have changed than its state. */
  conversationFound(conversationId: string, state: ConversationState | undefined): void {
    this.#conversations.call(conversationId, state)
  }

  #announce(news: RunNews): void {
    this.#announceHere(news)
    this.#link?.announced(news)
  }

  #announceHere(news: RunNews): void {
    this.#conversations.call(news.conversationId, news)
    this.#tenants.call(news.tenantId, news)
  }

  // ── stop requests, settings and waits ──

  /** Tells the worker that drives the run, in any process, that a cancel was stored. */
  requestStop(runId: string): void {
    if (this.#stops.has(runId)) this.#stops.call(runId)
    else this.#link?.stopRequested(runId)
  }

  /**
   * Calls `listener` for every stop request until the returned function is called. Also marks the run as driven here.
   */
  onStopRequest(runId: string, listener: () => void): () => void {
    return this.#stops.add(runId, listener)
  }

  /** Changes whenever this process changes settings of agents, tools or blocks, so that drivers read them again. */
  get settingsVersion(): number {
    return this.#settingsVersion
  }

  settingsChanged(): void {
    this.#settingsVersion += 1
  }

  /** Ends every wait for a run, so that clients have an answer before the process stops. */
  endWaits(): void {
    this.#waitsEnded = true
    for (const end of this.#waits) end()
  }

  /** Calls `listener` when waits end, or immediately if they have, until the returned function is called. */
  onEndOfWaits(listener: () => void): () => void {
    this.#waits.add(listener)
    if (this.#waitsEnded) listener()
    return () => this.#waits.delete(listener)
  }

  // ── other processes ──

  /** Connects other processes. There is only one link at a time. */
  connect(link: HubLink) {
    this.#link = link
    // What the link tells the hub about other processes. The hub sends none of it back.
    return {
      entriesStored: (runId: string, seq: number | undefined) => this.#entriesStored(runId, seq),
      announced: (news: RunNews) => this.#announceHere(news),
      /** News of a conversation or a tenant may have been lost. */
      newsLost: (topic: string) => {
        this.#conversations.call(topic, undefined)
        this.#tenants.call(topic, undefined)
      },
      stopRequested: (runId: string) => this.#stops.call(runId),
      progressed: (runId: string, callId: string, progress: ToolCallProgress | undefined) =>
        this.#progressed(runId, callId, progress),
      /** Sets the step that another process is writing, as far as its text has arrived here. */
      setCopy: (runId: string, step: ShownStep) => {
        if (!this.#readers.has(runId)) return
        this.#steps.setCopy(runId, step)
        this.#readers.call(runId, 'live')
      },
      /** The step that this process is writing. */
      ownStep: (runId: string) => this.#steps.own(runId),
      isDrivenHere: (runId: string) => this.#stops.has(runId),
      topics: (): (readonly [topic: string, kind: TopicKind])[] => [
        ...this.#readers.keys().map((runId) => [runId, 'run'] as const),
        ...[...this.#conversations.keys(), ...this.#tenants.keys()].map((topic) => [topic, 'news'] as const),
      ],
    }
  }
}

export type HubInlet = ReturnType<Hub['connect']>
