/** A value that changes by itself, in the form that `useSyncExternalStore` takes. */
export interface Store<State> {
  getState(): State
  /** The first subscriber starts the store. Some time after the last one has left, it stops. */
  subscribe(listener: () => void): () => void
}

/** How long a store without subscribers goes on: StrictMode and a change of page leave it for a moment. */
const lingerMs = 5_000

/**
 * Changes that come within one frame are announced together: an answer may come in hundreds of pieces per second. Where
 * showing them takes long, the next announcement waits twice as long, so that the page has time for the person.
 */
const frameMs = 16
const maxFrameMs = 250

/**
 * `start` is given a function to call after each change of what `read` returns, and returns one that stops everything.
 */
export function createStore<State>(start: (changed: () => void) => () => void, read: () => State): Store<State> {
  const listeners = new Set<() => void>()
  let stop: (() => void) | undefined
  let lingering: ReturnType<typeof setTimeout> | undefined
  let frame: ReturnType<typeof setTimeout> | undefined
  let waitMs = frameMs

  function changed(): void {
    frame ??= setTimeout(() => {
      frame = undefined
      const start = performance.now()
      for (const listener of [...listeners]) listener()
      // What the listeners cause is rendered before the next task.
      setTimeout(() => (waitMs = Math.min(Math.max(frameMs, 2 * (performance.now() - start)), maxFrameMs)))
    }, waitMs)
  }

  function leave(): void {
    if (listeners.size > 0) return
    lingering = setTimeout(() => {
      stop?.()
      stop = undefined
    }, lingerMs)
  }

  return {
    getState: read,
    subscribe(listener) {
      clearTimeout(lingering)
      listeners.add(listener)
      stop ??= start(changed)
      return () => {
        listeners.delete(listener)
        leave()
      }
    },
  }
}

const stores = new WeakMap<object, Map<string, unknown>>()

/**
 * The same store for everyone who asks with this owner and key, until it calls `forget`, which it does when it stops.
 */
export function shareStore<S>(owner: object, key: string, create: (forget: () => void) => S): S {
  const known = stores.get(owner) ?? new Map<string, unknown>()
  stores.set(owner, known)
  if (!known.has(key))
    known.set(
      key,
      create(() => void known.delete(key)),
    )
  return known.get(key) as S
}
