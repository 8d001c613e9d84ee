import { deferred, type Deferred } from './deferred.ts'

/** Counts turns of the event loop, for work that is done at most once per turn. */
export interface Turns {
  /** The number of the current turn. Only turns that someone waited for are counted. */
  readonly current: number
  /** Resolves in the next turn. */
  passed(): Promise<void>
}

export function createTurns(): Turns {
  let current = 0
  let passing: Deferred<void> | undefined
  return {
    get current() {
      return current
    },
    passed() {
      if (!passing) {
        passing = deferred()
        setImmediate(() => {
          const passed = passing!
          passing = undefined
          current += 1
          passed.resolve()
        })
      }
      return passing.promise
    },
  }
}
