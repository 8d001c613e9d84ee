import type { LiveStep } from '../domain/live-step.ts'

/** What there is to look at: entries that were committed, or text that is being written. */
export type Poke = 'stored' | 'live'

/**
 * Where the readers of a process hear of what its writers do. A poke carries nothing but where to look, so it may be
 * lost or come twice, and a writer never waits for a reader. The text of a live step exists once, here.
 */
export interface Hub {
  poke(runId: string, what: Poke): void
  /** Calls `listener` on every poke of the run until the returned function is called. */
  listen(runId: string, listener: (what: Poke) => void): () => void
  /** The runs that someone listens to. */
  listened(): string[]
  /** The step that this process writes, for as long as it does. */
  liveStep(runId: string): LiveStep | undefined
  setLiveStep(runId: string, step: LiveStep | undefined): void
  /** Wakes whoever drives the run here: a cancel was stored. */
  askToStop(runId: string): void
  onStop(runId: string, listener: () => void): () => void
}

export function createHub(): Hub {
  const listeners = new Map<string, Set<(what: Poke) => void>>()
  const stops = new Map<string, Set<() => void>>()
  const liveSteps = new Map<string, LiveStep>()

  return {
    poke(runId, what) {
      for (const listener of listeners.get(runId) ?? []) listener(what)
    },
    listen: (runId, listener) => add(listeners, runId, listener),
    listened: () => [...listeners.keys()],
    liveStep: (runId) => liveSteps.get(runId),
    setLiveStep(runId, step) {
      if (step) liveSteps.set(runId, step)
      else liveSteps.delete(runId)
    },
    askToStop(runId) {
      for (const listener of stops.get(runId) ?? []) listener()
    },
    onStop: (runId, listener) => add(stops, runId, listener),
  }
}

/** Adds to the set under the key and gives back how to remove it again; no empty set stays behind. */
function add<Listener>(sets: Map<string, Set<Listener>>, key: string, listener: Listener): () => void {
  const set = sets.get(key) ?? new Set()
  sets.set(key, set.add(listener))
  return () => {
    set.delete(listener)
    if (set.size === 0 && sets.get(key) === set) sets.delete(key)
  }
}
