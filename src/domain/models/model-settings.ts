import type { Json } from '../../util/json.ts'

export type ReasoningEffort = 'MINIMAL' | 'LOW' | 'MEDIUM' | 'HIGH'

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
