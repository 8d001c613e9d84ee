import type { Usage } from '../../domain/models/usage.ts'
import { pickColumns } from '../database/columns.ts'
import type { Row } from '../database/schema.ts'

/** The columns that hold the usage of a run or a step. */
export const usageColumns = [
  'input_tokens',
  'output_tokens',
  'cached_input_tokens',
  'reasoning_tokens',
  'cost_usd',
] as const
export type UsageRow = Pick<Row<'runs'>, (typeof usageColumns)[number]>

export function toUsage(row: UsageRow): Usage {
  const usage = pickColumns(row, usageColumns)
  return { ...usage, costUsd: toCost(usage.costUsd, usage.inputTokens + usage.outputTokens) }
}

/** Also null if nothing was used: most servers know no prices, and their rows stay short. */
export function storedCost({ costUsd, inputTokens, outputTokens }: Usage): number | null {
  return inputTokens + outputTokens > 0 ? costUsd : null
}

export function toCost(stored: number | null | undefined, tokens: number): number | null {
  return tokens > 0 ? (stored ?? null) : 0
}
