import type { Usage } from '../models/usage.ts'

export type BudgetPeriod = 'DAY' | 'MONTH' | 'TOTAL'
export type WhenBudgetReached = 'STOP' | 'ASK'

export interface BudgetSettings {
  readonly limitUsd: number | null
  readonly limitTokens: number | null
  readonly whenReached: WhenBudgetReached
}

/** What an agent, an actor or the whole tenant may spend. At most one of `agentId` and `actorId` is set. */
export interface Budget extends BudgetSettings {
  readonly id: string
  readonly tenantId: string
  readonly agentId: string | null
  readonly actorId: string | null
  readonly period: BudgetPeriod
  readonly createdAt: Date
}

/** A budget and what was spent of it in the current period (UTC). */
export interface BudgetStanding extends Budget {
  readonly spentUsd: number
  readonly spentTokens: number
  /** Null means never. */
  readonly resetsAt: Date | null
}

/** How much a run may have used before it asks again, whatever the budgets say. Null means that nothing was allowed. */
export interface Allowance {
  readonly usd: number | null
  readonly tokens: number | null
}

/**
 * Whether a run may ask a model: no budget applies to it, one has to be looked at first, all have something left, or one
 * is used up. Every request is preceded by a look.
 */
export type BudgetGate = 'none' | 'unchecked' | 'open' | WhenBudgetReached

/** What decides for one run. */
export interface BudgetedRun {
  readonly run: { readonly usage: Usage; readonly allowance: Allowance }
  readonly steps: readonly { readonly usage: Usage }[]
}

/** Budgets that a run has used up. What was allowed to the run counts against those that ask, and no others. */
export function reachedBudgets<Standing extends BudgetStanding>(
  budgets: readonly Standing[],
  state: BudgetedRun,
): Standing[] {
  const { usd, tokens } = state.run.allowance
  const used = usedBy(state)
  return budgets.filter(({ limitUsd, limitTokens, spentUsd, spentTokens, whenReached }) => {
    const asks = whenReached === 'ASK'
    const mayUse = (allowed: number | null, own: number) => asks && allowed !== null && own < allowed
    return (
      (limitUsd !== null && spentUsd >= limitUsd && !mayUse(usd, used.usd)) ||
      (limitTokens !== null && spentTokens >= limitTokens && !mayUse(tokens, used.tokens))
    )
  })
}

export function gateOf(budgets: readonly BudgetStanding[], state: BudgetedRun): BudgetGate {
  const reached = reachedBudgets(budgets, state)
  if (reached.length === 0) return 'open'
  return reached.some(({ whenReached }) => whenReached === 'STOP') ? 'STOP' : 'ASK'
}

/** What a run has used, without what models cost whose price is unknown. */
export function usedBy({ run, steps }: BudgetedRun): { readonly usd: number; readonly tokens: number } {
  const { inputTokens, outputTokens, costUsd } = run.usage
  const usd = costUsd ?? steps.reduce((sum, { usage }) => sum + (usage.costUsd ?? 0), 0)
  return { usd, tokens: inputTokens + outputTokens }
}
