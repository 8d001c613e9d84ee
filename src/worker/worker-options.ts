import type { EngineContext } from '../engine/engine-context.ts'
import type { WorkerProcess } from '../domain/worker.ts'
import type { ProcessWorkSignal } from '../live/work-signal.ts'
import type { ClaimLimits } from '../store/claim-runs.ts'
import type { OpenDatabase } from '../store/open-database.ts'
import type { Log } from '../util/log.ts'

export interface WorkerOptions {
  readonly engine: EngineContext & { readonly work: ProcessWorkSignal }
  readonly database: OpenDatabase
  /**
   * What others see of it. `capacity` is how many runs are driven at the same time. 0: none, this process only sweeps.
   */
  readonly about: WorkerProcess
  readonly limits: ClaimLimits
  readonly drainMs: number
  /**
   * How long a worker has lived before it drives a run that two workers died of. A server that is killed every few
   * seconds, whatever the reason, never lives that long: its runs are not blamed for it.
   */
  readonly suspectAfterMs: number
  readonly log: Log
}
