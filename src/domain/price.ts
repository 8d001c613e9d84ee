import type { TokenCounts } from './run.ts'

/** What a model costs, in US dollars per million tokens. */
export interface ModelPrice {
  readonly input: number
  readonly output: number
  /** Input that is read from the provider's cache. */
  readonly cachedInput: number
  /** Input that is written to the provider's cache, if that has a price of its own. */
  readonly cacheWrite: number
}

/** The cost of a request. Null if it used tokens of a model whose price is unknown. */
export function costOf(used: TokenCounts, price: ModelPrice | undefined): number | null {
  if (used.inputTokens === 0 && used.outputTokens === 0) return 0
  if (!price) return null
  const cached = Math.min(used.cachedInputTokens, used.inputTokens)
  const written = Math.min(used.cacheWriteTokens ?? 0, used.inputTokens - cached)
  const fresh = used.inputTokens - cached - written
  const millionths =
    fresh * price.input + cached * price.cachedInput + written * price.cacheWrite + used.outputTokens * price.output
  return millionths / 1_000_000
}
