import { AsyncLocalStorage } from 'node:async_hooks'

import type { Logger } from 'pino'

interface LogContext {
  readonly log: Logger
  /** Ids that every log line during the work has. */
  readonly ids: Readonly<Record<string, string>>
}

const storage = new AsyncLocalStorage<LogContext>()

/**
 * Every line that is logged during the work has these ids, and not those of the surrounding work: the request that
 * wakes a worker has nothing to do with the runs that the worker then finds.
 */
export function withLogIds<Result>(log: Logger, ids: LogContext['ids'], work: () => Result): Result {
  return storage.run({ log, ids }, work)
}

/** A copy, because pino adds the fields of the line to it. */
export function currentLogIds(): Record<string, string> {
  return { ...storage.getStore()?.ids }
}

/** The log of the current work, for code that has none of its own. Undefined outside of such work. */
export function currentLog(): Logger | undefined {
  return storage.getStore()?.log
}
