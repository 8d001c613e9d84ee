/** A value that changes by itself, in the form that `useSyncExternalStore` needs. */
export interface Store<State> {
  getState(): State
  /** The first subscriber starts the store. Some time after the last one has left, it stops. */
  subscribe(listener: () => void): () => void
}

/** How long a store without subscribers keeps running: StrictMode and a change of page leave it for a moment. */
const lingerMs = 5_000

/**
 * Changes within one frame are announced together, because an answer may arrive in hundreds of pieces per second. If
 * rendering them takes long, the next announcement waits twice as long, so that the page stays responsive.
 */
const frameMs = 16
const maxFrameMs = 250

/**
 * `start` gets a function to call after each change of what `read` returns, and returns a function that stops
 * everything.
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
      // The rendering that the listeners cause happens before the next task.
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
 * Returns the same store to every caller with this owner and key, until the store calls `forget`, which it does when it
 * stops.
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
