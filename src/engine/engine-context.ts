import type { CountTokens } from '../util/tokens.ts'
import type { Hub } from '../live/hub.ts'
import type { WorkSignal } from '../live/work-signal.ts'
import type { ProviderCatalog } from '../providers/catalog.ts'
import type { Db } from '../store/database/schema.ts'
import type { Toolbox } from '../tools/toolbox.ts'
import type { Clock } from '../util/clock.ts'
import type { IdSource } from '../util/ids.ts'
import type { Log } from '../util/log.ts'
import type { CheckpointWriter } from './checkpoint-writer.ts'
import type { ContextCache } from './context-cache.ts'
import type { FileCache } from './file-cache.ts'

/** What the engine needs to drive runs: a database, models, tools and a clock. */
export interface EngineContext {
  readonly db: Db
  readonly clock: Clock
  readonly ids: IdSource
  readonly hub: Hub
  readonly work: WorkSignal
  readonly checkpoints: CheckpointWriter
  /** Contexts of the conversations that were recently driven here. */
  readonly contexts: ContextCache
  /** Contents of files that models were recently sent. */
  readonly files: FileCache
  readonly catalog: ProviderCatalog
  readonly tools: Toolbox
  readonly log: Log
  readonly countTokens: CountTokens
  /** How long a tool may continue after it was told to stop. */
  readonly toolGraceMs: number
  /** How long a model's stream may be silent. */
  readonly modelIdleMs: number
  /** Whether requests to models are kept for the agents that ask for it. */
  readonly keepsRequests: boolean
}
