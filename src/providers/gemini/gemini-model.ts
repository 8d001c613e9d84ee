import type { ModelSettings, ReasoningEffort } from '../../domain/models/model-settings.ts'

/** 2.5 of gemini-2.5-flash, 3 of gemini-3-pro-preview. */
export function geminiVersion(name: string): number {
  const [, version] = /gemini-(\d+(?:\.\d+)?)/.exec(name) ?? []
  return Number(version ?? 0)
}

/** The wire format. The SDK has an enum for the level. */
export interface GeminiThinking {
  readonly includeThoughts: boolean
  readonly thinkingBudget?: number
  readonly thinkingLevel?: string
}

const budgets: Record<ReasoningEffort, number> = { MINIMAL: 512, LOW: 2048, MEDIUM: 8192, HIGH: 24_576 }

/** Thinking is shown. Gemini 3 takes a level, earlier models a number of tokens. */
export function thinkingOf(
  name: string,
  { reasoningEffort, reasoningBudget }: Pick<ModelSettings, 'reasoningEffort' | 'reasoningBudget'>,
): GeminiThinking | undefined {
  const version = geminiVersion(name)
  if (version < 2.5) return undefined
  const budget = reasoningBudget ?? (version < 3 && reasoningEffort ? budgets[reasoningEffort] : undefined)
  const level = version >= 3 && budget === undefined && reasoningEffort ? levelOf(reasoningEffort, name) : undefined
  return {
    includeThoughts: true,
    ...(budget !== undefined && { thinkingBudget: budget }),
    ...(level && { thinkingLevel: level }),
  }
}

/** Pro models have fewer levels. */
function levelOf(effort: ReasoningEffort, name: string): string {
  return effort === 'MINIMAL' && name.includes('pro') ? 'LOW' : effort
}
