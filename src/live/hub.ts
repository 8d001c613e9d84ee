import type { Checkpoint } from '../domain/draft.ts'
import type { ShownStep } from '../domain/live-step.ts'
import { toEntryEvents } from '../domain/run-event.ts'
import { newsOf, type RunNews } from '../domain/run-news.ts'
import { createTurns, type Turns } from '../util/turns.ts'
import { RunTail } from './run-tail.ts'

/** What there is to look at: entries that were committed, or text that is being written. */
export type Poke = 'stored' | 'live'

/** Undefined: news may have been missed. */
export type NewsListener = (news: RunNews | undefined) => void

/**
 * Where the readers of a process hear of what its writers do. A poke carries nothing but where to look, so it may be
 * lost or come twice, and a writer never waits for a reader. The text of a live step exists once, here. What other
 * processes write comes in through a link, and what they want to hear goes out through it.
 */
export interface Hub {
  poke(runId: string, what: Poke): void
  /** A checkpoint was committed here: its entries go to the run's readers without being read again. */
  stored(checkpoint: Checkpoint): void
  /** The run was seen to have been stored up to `seq`. */
  seen(runId: string, seq: number): void
  /** For what no checkpoint tells: a run was accepted, or asked to stop. */
  tell(news: RunNews): void
  /** Calls `listener` on every poke of the run until the returned function is called. */
  listen(runId: string, listener: (what: Poke) => void): () => void
  /** The runs that someone listens to. */
  listened(): string[]
  /** What the readers of a run share; there is one while someone listens. */
  tail(runId: string): RunTail | undefined
  watchConversation(conversationId: string, listener: NewsListener): () => void
  watchTenant(tenantId: string, listener: NewsListener): () => void
  /** The conversations that someone watches. */
  watchedConversations(): string[]
  /** The conversation was seen to have moved. */
  conversationMoved(conversationId: string): void
  /** The step that is being written, for as long as it is known here. */
  liveStep(runId: string): ShownStep | undefined
  setLiveStep(runId: string, step: ShownStep): void
  /** Changes nothing where another step has taken its place. */
  endLiveStep(runId: string, step: ShownStep): void
  /** Readers send text at most once in each turn: the busier the process, the more of it is sent at a time. */
  readonly turns: Turns
  /** Wakes whoever drives the run, here or elsewhere: a cancel was stored. */
  askToStop(runId: string): void
  onStop(runId: string, listener: () => void): () => void
  /** Ties in other processes. One link at a time. */
  connect(link: HubLink): HubInlet
}

/** What a hub tells the link to other processes. Topics are ids of runs, conversations or tenants. */
export interface HubLink {
  topicOpened(topic: string, kind: TopicKind): void
  topicClosed(topic: string): void
  /** Text was written here. */
  written(runId: string): void
  /** Something was committed here; up to `seq`, where that is known. */
  committed(runId: string, seq: number | undefined): void
  /** The run has moved, as was seen by looking. */
  moved(runId: string): void
  told(news: RunNews): void
  stopAsked(runId: string): void
}

export type TopicKind = 'run' | 'news'

/** What a link tells a hub. Nothing of it goes back out. */
export interface HubInlet {
  committed(runId: string, seq: number | undefined): void
  told(news: RunNews): void
  /** News of a conversation or tenant may have been missed. */
  missed(topic: string): void
  stopAsked(runId: string): void
  /** The step that another process writes, as far as it is known here; undefined: not any longer. */
  setReplica(runId: string, step: ShownStep | undefined): void
  /** The step that this process writes. */
  ownStep(runId: string): ShownStep | undefined
  isDrivenHere(runId: string): boolean
  topics(): readonly (readonly [topic: string, kind: TopicKind])[]
}

export function createHub(): Hub {
  const listeners = new Map<string, Set<(what: Poke) => void>>()
  const tails = new Map<string, RunTail>()
  const conversations = new Map<string, Set<NewsListener>>()
  const tenants = new Map<string, Set<NewsListener>>()
  const stops = new Map<string, Set<() => void>>()
  const ownSteps = new Map<string, ShownStep>()
  const replicas = new Map<string, ShownStep>()
  let link: HubLink | undefined

  function wake(runId: string, what: Poke): void {
    for (const listener of listeners.get(runId) ?? []) listener(what)
  }

  function tellHere(news: RunNews): void {
    for (const listener of conversations.get(news.conversationId) ?? []) listener(news)
    for (const listener of tenants.get(news.tenantId) ?? []) listener(news)
  }

  function stopHere(runId: string): void {
    for (const listener of stops.get(runId) ?? []) listener()
  }

  function watch(topics: Map<string, Set<NewsListener>>, topic: string, listener: NewsListener): () => void {
    return add(topics, topic, listener, {
      onFirst: () => link?.topicOpened(topic, 'news'),
      onLast: () => link?.topicClosed(topic),
    })
  }

  return {
    turns: createTurns(),
    poke(runId, what) {
      if (what === 'live') link?.written(runId)
      else {
        tails.get(runId)?.hint()
        link?.committed(runId, undefined)
      }
      wake(runId, what)
    },
    stored(checkpoint) {
      const { before, after, at, entries } = checkpoint
      tails.get(after.id)?.add(toEntryEvents(after.id, { firstSeq: before.nextSeq, at, entries }))
      wake(after.id, 'stored')
      link?.committed(after.id, after.nextSeq - 1)
      const news = newsOf(checkpoint)
      if (news.status === null && !news.calls) return
      tellHere(news)
      link?.told(news)
    },
    seen(runId, seq) {
      const tail = tails.get(runId)
      if (!tail || seq <= tail.lastSeq) return
      tail.hint(seq)
      wake(runId, 'stored')
      link?.moved(runId)
    },
    tell(news) {
      tellHere(news)
      link?.told(news)
    },
    listen: (runId, listener) =>
      add(listeners, runId, listener, {
        onFirst() {
          tails.set(runId, new RunTail(() => wake(runId, 'stored')))
          link?.topicOpened(runId, 'run')
        },
        onLast() {
          tails.delete(runId)
          replicas.delete(runId)
          link?.topicClosed(runId)
        },
      }),
    listened: () => [...listeners.keys()],
    tail: (runId) => tails.get(runId),
    watchConversation: (conversationId, listener) => watch(conversations, conversationId, listener),
    watchTenant: (tenantId, listener) => watch(tenants, tenantId, listener),
    watchedConversations: () => [...conversations.keys()],
    conversationMoved(conversationId) {
      for (const listener of conversations.get(conversationId) ?? []) listener(undefined)
    },
    liveStep(runId) {
      const own = ownSteps.get(runId)
      const replica = replicas.get(runId)
      // A worker that was replaced may still be writing: the later entry has the word.
      return own && replica ? (own.seq >= replica.seq ? own : replica) : (own ?? replica)
    },
    setLiveStep: (runId, step) => void ownSteps.set(runId, step),
    endLiveStep(runId, step) {
      if (ownSteps.get(runId) === step) ownSteps.delete(runId)
    },
    askToStop(runId) {
      if (stops.has(runId)) stopHere(runId)
      else link?.stopAsked(runId)
    },
    onStop: (runId, listener) => add(stops, runId, listener),
    connect(given) {
      link = given
      return {
        committed(runId, seq) {
          tails.get(runId)?.hint(seq)
          wake(runId, 'stored')
        },
        told: tellHere,
        missed(topic) {
          for (const listener of conversations.get(topic) ?? tenants.get(topic) ?? []) listener(undefined)
        },
        stopAsked: stopHere,
        setReplica(runId, step) {
          if (!listeners.has(runId)) return
          if (step) replicas.set(runId, step)
          else replicas.delete(runId)
          wake(runId, 'live')
        },
        ownStep: (runId) => ownSteps.get(runId),
        isDrivenHere: (runId) => stops.has(runId),
        topics: () => [
          ...[...listeners.keys()].map((runId) => [runId, 'run'] as const),
          ...[...conversations.keys(), ...tenants.keys()].map((topic) => [topic, 'news'] as const),
        ],
      }
    },
  }
}

/** Adds to the set under the key and gives back how to remove it again; no empty set stays behind. */
function add<Listener>(
  sets: Map<string, Set<Listener>>,
  key: string,
  listener: Listener,
  { onFirst, onLast }: { readonly onFirst?: () => void; readonly onLast?: () => void } = {},
): () => void {
  const set = sets.get(key) ?? new Set()
  set.add(listener)
  if (!sets.has(key)) {
    sets.set(key, set)
    onFirst?.()
  }
  return () => {
    if (!set.delete(listener) || set.size > 0 || sets.get(key) !== set) return
    sets.delete(key)
    onLast?.()
  }
}
