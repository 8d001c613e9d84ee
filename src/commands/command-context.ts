import type { ModelCatalog } from '../domain/models/model.ts'
import type { ToolAccess } from '../domain/tools/tool-access.ts'
import type { Hub } from '../live/hub.ts'
import type { WorkSignal } from '../live/work-signal.ts'
import type { Db } from '../store/database/schema.ts'
import type { Clock } from '../util/clock.ts'
import type { IdSource } from '../util/ids.ts'
import type { GuardedNetwork } from '../util/network-guard.ts'
import type { SecretBox } from '../util/secret-box.ts'

/** Dependencies of the commands. The viewer is an argument of each command. */
export interface CommandContext {
  readonly db: Db
  /** Encrypts what only tools may read. */
  readonly secrets: SecretBox
  readonly clock: Clock
  readonly ids: IdSource
  readonly models: ModelCatalog
  readonly hub: Hub
  readonly work: WorkSignal
  readonly tools: ToolAccess
  /** For what the API sends itself, such as the test of a webhook. */
  readonly network: GuardedNetwork
  /** The address under which people reach this server. Undefined if it is not known. */
  readonly publicUrl?: string | undefined
  /** The largest file size that is accepted. */
  readonly maxFileBytes: number
  /** How much all stored files of a tenant may have together. Undefined: no limit. */
  readonly tenantStorageBytes?: number | undefined
}

/** The input of a mutation that names one object and nothing else. */
export interface IdInput {
  readonly id: string
}

/** What is needed to change runs, also without a viewer, as in the sweep. */
export type RunContext = Pick<CommandContext, 'db' | 'clock' | 'ids' | 'hub' | 'work'>
