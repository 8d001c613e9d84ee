import type { Viewer } from '../../domain/access/viewer.ts'
import { badUserInput } from '../../domain/errors.ts'
import { hasEnded, waitsForBudget } from '../../domain/runs/run.ts'
import {
  reachedBudgets,
  usedBy,
  type Allowance,
  type BudgetedRun,
  type BudgetStanding,
} from '../../domain/usage/budget.ts'
import { changeRun } from '../../live/change-run.ts'
import { transact } from '../../store/database/transact.ts'
import { findRuns } from '../../store/runs/runs.ts'
import { listBudgetsOfRun, setAllowance } from '../../store/usage/budgets.ts'
import type { CommandContext } from '../command-context.ts'
import { found, foundOne } from '../found.ts'
import { findEarlier, remember, type KeyedInput } from '../idempotency.ts'
import { changeOf, recordChange } from '../record-change.ts'

export interface ContinueRunInput {
  readonly runId: string
  /** How much more the run may use, counted from now. */
  readonly allow: Allowance
  readonly keyed: KeyedInput | undefined
}

export type ContinueRunOutcome = { readonly outcome: 'continued' | 'finished' | 'not waiting' }

/** Lets a run that waits for a budget use more than the budget has left. */
export async function continueRun(
  context: CommandContext,
  viewer: Viewer,
  { runId, allow, keyed }: ContinueRunInput,
): Promise<ContinueRunOutcome> {
  await foundOne('Run', runId, findRuns(context.db, viewer, [runId]))
  const outcome = await transact(context, (trx, afterCommit) =>
    changeRun(context, { trx, afterCommit }, runId, async (draft): Promise<ContinueRunOutcome> => {
      const { state } = draft
      const { run } = state
      if (await findEarlier(trx, keyed, draft.at)) return { outcome: 'continued' }
      if (hasEnded(run.status)) return { outcome: 'finished' }
      if (!waitsForBudget(run)) return { outcome: 'not waiting' }
      checkUnit(await listBudgetsOfRun(trx, run), state, allow)
      const used = usedBy(state)
      const allowance = {
        usd: allow.usd === null ? run.allowance.usd : used.usd + allow.usd,
        tokens: allow.tokens === null ? run.allowance.tokens : used.tokens + allow.tokens,
      }
      await setAllowance(trx, runId, allowance)
      const after = { id: runId, allowUsd: allow.usd, allowTokens: allow.tokens }
      await recordChange(context, trx, viewer, changeOf('continueRun', 'Run', { id: runId }, after))
      await remember(trx, keyed, { objectIds: [runId], now: draft.at })
      draft.setStatus('RUNNING')
      return { outcome: 'continued' }
    }),
  )
  return found('Run', runId, outcome)
}

/** An amount in a unit that no budget limits would not let the run go on. */
function checkUnit(budgets: readonly BudgetStanding[], state: BudgetedRun, allow: Allowance): void {
  const reached = reachedBudgets(budgets, state)
  const limiting = reached.length > 0 ? reached : budgets
  const helps = limiting.some(
    ({ limitUsd, limitTokens }) =>
      (limitUsd !== null && allow.usd !== null) || (limitTokens !== null && allow.tokens !== null),
  )
  if (helps || limiting.length === 0) return
  const [given, expected] = allow.usd === null ? ['allowTokens', 'allowUsd'] : ['allowUsd', 'allowTokens']
  throw badUserInput(`input.${given}`, `The budget has no limit in this unit. Give \`${expected}\`.`)
}
