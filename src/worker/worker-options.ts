import type { EngineContext } from '../engine/engine-context.ts'
import type { OpenDatabase } from '../store/open-database.ts'
import type { Log } from '../util/log.ts'

export interface WorkerOptions {
  readonly engine: EngineContext
  readonly database: OpenDatabase
  /** How many runs are driven at the same time. 0: none, this process only sweeps. */
  readonly concurrency: number
  readonly drainMs: number
  readonly log: Log
}
