import type { SendContext } from '../commands/webhooks/attempt-delivery.ts'
import type { EngineContext } from '../engine/engine-context.ts'
import type { DeletedKind, RetentionRules } from '../domain/retention.ts'
import type { WorkerProcess } from '../domain/worker.ts'
import type { ClaimLimits } from '../store/workers/claim-runs.ts'
import type { OpenDatabase } from '../store/database/open-database.ts'
import type { Log } from '../util/log.ts'

export interface WorkerOptions {
  readonly engine: EngineContext
  readonly database: OpenDatabase
  /**
   * How other processes see this worker. `capacity` is the number of runs it drives at the same time. With 0 it drives
   * none, and the process only sweeps.
   */
  readonly about: WorkerProcess
  readonly limits: ClaimLimits
  readonly drainMs: number
  /** How long requests to models are kept, for agents that ask for it. */
  readonly keepRequestsMs: number
  /** How long the deliveries of webhooks are kept. */
  readonly keepDeliveriesMs: number
  readonly webhooks: SendContext & { readonly publicUrl: string | undefined }
  readonly retention: RetentionRules
  /** Called with the number of rows that the background deleted. */
  readonly onDeleted: (rows: number, kind: DeletedKind) => void
  /**
   * How long a worker must have lived before it drives a suspect. A server that something else kills every few seconds
   * never lives that long, so its runs are not blamed.
   */
  readonly suspectAfterMs: number
  readonly log: Log
}
