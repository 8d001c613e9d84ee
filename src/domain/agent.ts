import type { Json, JsonObject } from '../util/json.ts'
import type { ToolRule } from './tools/tool-rules.ts'

export const reasoningEfforts = ['MINIMAL', 'LOW', 'MEDIUM', 'HIGH'] as const
export type ReasoningEffort = (typeof reasoningEfforts)[number]

export interface ModelSettings {
  readonly temperature: number | null
  readonly maxOutputTokens: number | null
  readonly contextWindow: number | null
  readonly parallelToolCalls: boolean
  readonly reasoningEffort: ReasoningEffort | null
  readonly reasoningBudget: number | null
  readonly responseSchema: Json
  readonly fallbacks: readonly string[]
}

export const defaultModelSettings: ModelSettings = {
  temperature: null,
  maxOutputTokens: null,
  contextWindow: null,
  parallelToolCalls: true,
  reasoningEffort: null,
  reasoningBudget: null,
  responseSchema: null,
  fallbacks: [],
}

export const compactionModes = ['ALL', 'SLIDING_WINDOW'] as const
export type CompactionMode = (typeof compactionModes)[number]

export interface CompactionSettings {
  readonly mode: CompactionMode
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
