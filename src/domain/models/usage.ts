/** Tokens as a provider counts them. */
export interface TokenCounts {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedInputTokens: number
  readonly reasoningTokens: number
  /** Input tokens that were written to the provider's cache, if that has a price of its own. Not stored. */
  readonly cacheWriteTokens?: number
}

export interface Usage extends Omit<TokenCounts, 'cacheWriteTokens'> {
  /** Null if the price of a model that was used is not known. */
  readonly costUsd: number | null
}

export const noUsage: Usage = {
  inputTokens: 0,
  outputTokens: 0,
  cachedInputTokens: 0,
  reasoningTokens: 0,
  costUsd: 0,
}

export function sumOfUsage(one: Usage, other: Usage): Usage {
  return {
    inputTokens: sumOfTokens(one.inputTokens, other.inputTokens),
    outputTokens: sumOfTokens(one.outputTokens, other.outputTokens),
    cachedInputTokens: sumOfTokens(one.cachedInputTokens, other.cachedInputTokens),
    reasoningTokens: sumOfTokens(one.reasoningTokens, other.reasoningTokens),
    costUsd: one.costUsd === null || other.costUsd === null ? null : one.costUsd + other.costUsd,
  }
}

/** The largest token count that the API and the database can hold. A larger sum is capped here. */
const maxTokens = 2 ** 31 - 1

export function sumOfTokens(one: number, other: number): number {
  return Math.min(countOf(one) + countOf(other), maxTokens)
}

/** Providers may report anything. A value that is not a count becomes 0. */
function countOf(tokens: number): number {
  return tokens > 0 ? Math.min(Math.floor(tokens), maxTokens) : 0
}

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
