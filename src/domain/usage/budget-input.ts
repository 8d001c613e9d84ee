import { badUserInput } from '../errors.ts'
import { checkedNumber, mergeFields, unchecked, type GivenFields } from '../input.ts'
import type { BudgetSettings } from './budget.ts'

export type BudgetInput = GivenFields<BudgetSettings>

/** A new budget before its input is merged. A limit must be given. */
export const unsetBudget: BudgetSettings = { limitUsd: null, limitTokens: null, whenReached: 'STOP' }

const maxTokens = 2 ** 31 - 1
const maxUsd = 1e9

/** Omitted fields stay unchanged. Null restores the default. */
export function mergeBudget(current: BudgetSettings, input: BudgetInput): BudgetSettings {
  const settings = mergeFields('input', input, {
    current,
    defaults: unsetBudget,
    checks: {
      limitUsd: (field, limit) => checkedNumber(field, limit, { from: 0, to: maxUsd }),
      limitTokens: (field, limit) => checkedNumber(field, limit, { from: 0, to: maxTokens }),
      whenReached: unchecked,
    },
  })
  if (settings.limitUsd !== null || settings.limitTokens !== null) return settings
  throw badUserInput('input.limitTokens', 'A budget needs a limit. Give `limitUsd`, `limitTokens` or both.')
}

/** What `continueRun` allows. Null means nothing in this unit. */
export function checkedAllowance(input: {
  readonly allowUsd?: number | null | undefined
  readonly allowTokens?: number | null | undefined
}): { readonly usd: number | null; readonly tokens: number | null } {
  const amount = (name: 'allowUsd' | 'allowTokens', to: number) => {
    const value = input[name] ?? null
    if (value !== null && value <= 0)
      throw badUserInput(`input.${name}`, `${value} is not above 0. Expected an amount.`)
    return value === null ? null : checkedNumber(`input.${name}`, value, { from: 0, to })
  }
  const allowance = { usd: amount('allowUsd', maxUsd), tokens: amount('allowTokens', maxTokens) }
  if (allowance.usd !== null || allowance.tokens !== null) return allowance
  throw badUserInput('input.allowTokens', 'An amount is missing. Give `allowUsd`, `allowTokens` or both.')
}
