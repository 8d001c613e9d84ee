import type { Checkpoint } from '../domain/runs/draft.ts'
import type { ShownStep } from '../domain/runs/live-step.ts'
import { toEntryEvents } from '../domain/runs/run-event.ts'
import { newsOf, type RunNews } from '../domain/runs/run-news.ts'
import { createTicks, type Ticks } from '../util/ticks.ts'
import { Listeners } from './listeners.ts'
import { LiveSteps } from './live-steps.ts'
import { RunTail } from './run-tail.ts'
import { SharedReads } from './shared-reads.ts'

/** Why a run's readers are woken: entries were stored, or text was written. */
export type WakeUp = 'stored' | 'live'

/** Called with undefined when news may have been lost: look at everything. */
export type NewsListener = (news: RunNews | undefined) => void

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
export interface Hub {
  /** The step of the run that is being written, here or elsewhere, as far as this process knows. */
  liveStep(runId: string): ShownStep | undefined
  /** This process writes the run's step from now on. */
  setLiveStep(runId: string, step: ShownStep): void
  /** Does nothing if another step has taken this one's place. */
  endLiveStep(runId: string, step: ShownStep): void
  /** Text was added to the run's live step. */
  textWritten(runId: string): void
  /** Readers send text at most once per tick of the event loop: the busier the process, the more text per event. */
  readonly ticks: Ticks
  /** Reads that the readers of one run or conversation want at the same moment. */
  readonly reads: SharedReads

  /** Ends every wait for a run: the process stops, and its clients shall have an answer before that. */
  endWaits(): void
  /** Calls `listener` when waits end, or immediately if they have, until the returned function is called. */
  onEndOfWaits(listener: () => void): () => void

  /** Calls `listener` for every wake-up of the run's readers, until the returned function is called. */
  listen(runId: string, listener: (wakeUp: WakeUp) => void): () => void
  /** The runs that have readers in this process. */
  runsWithReaders(): string[]
  /** How many readers and watchers this process has. */
  subscriberCount(): number
  /** What the readers of a run share. Undefined while the run has no readers. */
  tail(runId: string): RunTail | undefined
  /** This process committed a checkpoint. Readers get its entries without a read from the database. */
  checkpointStored(checkpoint: Checkpoint): void
  /** This process changed or deleted the run in a way that no checkpoint describes. */
  runChanged(runId: string): void
  /** The poll found that the run's log reaches up to `seq`. */
  pollFound(runId: string, seq: number): void

  watchConversation(conversationId: string, listener: NewsListener): () => void
  watchTenant(tenantId: string, listener: NewsListener): () => void
  /** The conversations that have watchers in this process. */
  watchedConversations(): string[]
  /** Tells watchers of a change that no checkpoint describes: a run was accepted, or is to be cancelled. */
  announce(news: RunNews): void
  /** The poll found that the conversation changed. */
  conversationChanged(conversationId: string): void

  /** Tells the worker that drives the run, in any process, that a cancel was stored. */
  requestStop(runId: string): void
  /**
   * Calls `listener` for every stop request until the returned function is called. Also marks the run as driven here.
   */
  onStopRequest(runId: string, listener: () => void): () => void

  /** Connects other processes. There is only one link at a time. */
  connect(link: HubLink): HubInlet
}

/** What a hub tells the link to other processes. A topic is the id of a run, a conversation or a tenant. */
export interface HubLink {
  /** The topic has its first listener in this process. */
  topicOpened(topic: string, kind: TopicKind): void
  /** The topic has lost its last listener in this process. */
  topicClosed(topic: string): void
  textWritten(runId: string): void
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

/** What a link tells the hub about other processes. The hub sends none of it back. */
export interface HubInlet {
  entriesStored(runId: string, seq: number | undefined): void
  announced(news: RunNews): void
  /** News of a conversation or a tenant may have been lost. */
  newsLost(topic: string): void
  stopRequested(runId: string): void
  /** Sets the step that another process is writing, as far as its text has arrived here. */
  setCopy(runId: string, step: ShownStep): void
  /** The step that this process is writing. */
  ownStep(runId: string): ShownStep | undefined
  isDrivenHere(runId: string): boolean
  topics(): readonly (readonly [topic: string, kind: TopicKind])[]
}

/** Called with what this process did, for logs and metrics. */
export interface HubObserver {
  checkpointStored(checkpoint: Checkpoint): void
  /** A change that no checkpoint describes. */
  announced(news: RunNews): void
}

export function createHub(observer?: HubObserver): Hub {
  let link: HubLink | undefined
  const ticks = createTicks()
  const steps = new LiveSteps()
  const tails = new Map<string, RunTail>()
  const readers = new Listeners<WakeUp>({
    onFirst(runId) {
      tails.set(runId, new RunTail(() => readers.call(runId, 'stored')))
      link?.topicOpened(runId, 'run')
    },
    onLast(runId) {
      tails.delete(runId)
      steps.dropCopy(runId)
      link?.topicClosed(runId)
    },
  })
  const watcherHooks = {
    onFirst: (topic: string) => link?.topicOpened(topic, 'news'),
    onLast: (topic: string) => link?.topicClosed(topic),
  }
  const conversations = new Listeners<RunNews | undefined>(watcherHooks)
  const tenants = new Listeners<RunNews | undefined>(watcherHooks)
  const stops = new Listeners()
  const waits = new Set<() => void>()
  let waitsEnded = false

  function announceHere(news: RunNews): void {
    conversations.call(news.conversationId, news)
    tenants.call(news.tenantId, news)
  }

  function announce(news: RunNews): void {
    announceHere(news)
    link?.announced(news)
  }

  const inlet: HubInlet = {
    entriesStored(runId, seq) {
      tails.get(runId)?.announce(seq)
      readers.call(runId, 'stored')
    },
    announced: announceHere,
    newsLost(topic) {
      conversations.call(topic, undefined)
      tenants.call(topic, undefined)
    },
    stopRequested: (runId) => stops.call(runId),
    setCopy(runId, step) {
      if (!readers.has(runId)) return
      steps.setCopy(runId, step)
      readers.call(runId, 'live')
    },
    ownStep: (runId) => steps.own(runId),
    isDrivenHere: (runId) => stops.has(runId),
    topics: () => [
      ...readers.keys().map((runId) => [runId, 'run'] as const),
      ...[...conversations.keys(), ...tenants.keys()].map((topic) => [topic, 'news'] as const),
    ],
  }

  return {
    liveStep: (runId) => steps.get(runId),
    setLiveStep: (runId, step) => steps.setOwn(runId, step),
    endLiveStep: (runId, step) => steps.endOwn(runId, step),
    textWritten(runId) {
      link?.textWritten(runId)
      readers.call(runId, 'live')
    },
    ticks,
    reads: new SharedReads(ticks),

    endWaits() {
      waitsEnded = true
      for (const end of waits) end()
    },
    onEndOfWaits(listener) {
      waits.add(listener)
      if (waitsEnded) listener()
      return () => waits.delete(listener)
    },

    listen: (runId, listener) => readers.add(runId, listener),
    runsWithReaders: () => readers.keys(),
    subscriberCount: () => readers.count() + conversations.count() + tenants.count(),
    tail: (runId) => tails.get(runId),
    checkpointStored(checkpoint) {
      const { before, after, at, entries } = checkpoint
      tails.get(after.id)?.add(toEntryEvents(after, { firstSeq: before.nextSeq, at, entries }))
      readers.call(after.id, 'stored')
      link?.entriesStored(after.id, after.nextSeq - 1)
      const news = newsOf(checkpoint)
      if (news.status !== null || news.calls) announce(news)
      observer?.checkpointStored(checkpoint)
    },
    runChanged(runId) {
      inlet.entriesStored(runId, undefined)
      link?.entriesStored(runId, undefined)
    },
    pollFound(runId, seq) {
      const tail = tails.get(runId)
      if (!tail || seq <= tail.lastSeq) return
      inlet.entriesStored(runId, seq)
      link?.pollFound(runId)
    },

    watchConversation: (conversationId, listener) => conversations.add(conversationId, listener),
    watchTenant: (tenantId, listener) => tenants.add(tenantId, listener),
    watchedConversations: () => conversations.keys(),
    announce(news) {
      announce(news)
      observer?.announced(news)
    },
    conversationChanged: (conversationId) => conversations.call(conversationId, undefined),

    requestStop(runId) {
      if (stops.has(runId)) stops.call(runId)
      else link?.stopRequested(runId)
    },
    onStopRequest: (runId, listener) => stops.add(runId, listener),

    connect(given) {
      link = given
      return inlet
    },
  }
}
