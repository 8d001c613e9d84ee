import type { Usage } from '../../domain/models/usage.ts'

/** The columns that hold the usage of a run or a step. */
interface UsageColumns {
  readonly input_tokens: number
  readonly output_tokens: number
  readonly cached_input_tokens: number
  readonly reasoning_tokens: number
  readonly cost_usd: number | null
}

export function toUsage(row: UsageColumns): Usage {
  return {
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    cachedInputTokens: row.cached_input_tokens,
    reasoningTokens: row.reasoning_tokens,
    costUsd: toCost(row.cost_usd, row.input_tokens + row.output_tokens),
  }
}

/** Also null if nothing was used: most servers know no prices, and their rows stay short. */
export function storedCost({ costUsd, inputTokens, outputTokens }: Usage): number | null {
  return inputTokens + outputTokens > 0 ? costUsd : null
}

export function toCost(stored: number | null | undefined, tokens: number): number | null {
  return tokens > 0 ? (stored ?? null) : 0
}
