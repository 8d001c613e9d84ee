import type { JsonObject } from '../../util/json.ts'
import type { ModelSettings } from '../models/model-settings.ts'
import type { ToolRule } from '../tools/tool-rules.ts'

export interface CompactionSettings {
  readonly mode: 'ALL' | 'SLIDING_WINDOW'
  readonly model: string | null
  readonly prompt: string | null
  readonly keepRatio: number
}

export const defaultCompaction: CompactionSettings = {
  mode: 'SLIDING_WINDOW',
  model: null,
  prompt: null,
  keepRatio: 0.7,
}

export interface Agent {
  readonly id: string
  readonly tenantId: string
  /** The client's own key, unique in the tenant. Null unless `upsertAgent` set it. */
  readonly key: string | null
  readonly name: string
  readonly description: string | null
  readonly instructions: string
  readonly model: string
  /** What its archive is embedded with. Null: passages are found by their words alone. */
  readonly embeddingModel: string | null
  readonly modelSettings: ModelSettings
  readonly toolRules: readonly ToolRule[]
  readonly compaction: CompactionSettings
  readonly tags: readonly string[]
  readonly metadata: JsonObject
  readonly timezone: string
  /** Whether requests to its models and their answers are kept, for debugging. */
  readonly keepRequests: boolean
  /** Whether the model is told when messages and tool returns happened. */
  readonly tellTimes: boolean
  readonly createdAt: Date
  readonly updatedAt: Date
}
