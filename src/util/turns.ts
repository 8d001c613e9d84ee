import { deferred, type Deferred } from './deferred.ts'

/** The turns of the event loop, for who wants to do something at most once in each. */
export interface Turns {
  /** The turn that we are in, as far as anyone has asked for it to pass. */
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
