/** Counts ticks of the event loop, for work that is done at most once per tick. */
export interface Ticks {
  /** The number of the current tick. Only ticks that someone waited for are counted. */
  readonly current: number
  /** Resolves in the next tick. */
  passed(): Promise<void>
}

export function createTicks(): Ticks {
  let current = 0
  let passing: PromiseWithResolvers<void> | undefined
  return {
    get current() {
      return current
    },
    passed() {
      if (passing) return passing.promise
      const { promise, resolve } = (passing = Promise.withResolvers<void>())
      setImmediate(() => {
        passing = undefined
        current += 1
        resolve()
      })
      return promise
    },
  }
}
