import { advance } from '../domain/runs/advance.ts'
import { encodeId } from '../domain/ids.ts'
import type { DrivenRun } from '../domain/runs/run-state.ts'
import { gateOf, reachedBudgets, type BudgetStanding } from '../domain/usage/budget.ts'
import { changeRun, undefinedIfRefused } from '../live/change-run.ts'
import type { ReachedBudget } from '../domain/webhooks/webhook.ts'
import { transact } from '../store/database/transact.ts'
import { listBudgetsOfRun, shareBudgetsOfRun } from '../store/usage/budgets.ts'
import { LeaseLostError, storing, type Committed } from './commit.ts'
import type { EngineContext } from './engine-context.ts'

/**
 * Pauses or ends a run whose budget is used up. Its budgets are locked first and read again, so that a change of one
 * either is seen here or finds the run waiting. If there is something left after all, the run goes on.
 */
export async function stopAtBudget(context: EngineContext, run: DrivenRun, letGo: AbortSignal): Promise<Committed> {
  const committed = await storing(context, letGo, () =>
    transact(context, async (trx, afterCommit): Promise<Committed | undefined> => {
      await shareBudgetsOfRun(trx, run)
      return changeRun(context, { trx, afterCommit }, run.id, async (draft) => {
        if (draft.state.run.lease !== run.lease) return undefined
        draft.changeRun({ deaths: 0 })
        const budgets = await listBudgetsOfRun(trx, run)
        draft.setBudget(gateOf(budgets, draft.state))
        const reached = reachedBudgets(budgets, draft.state)
        const { stopReason: earlier } = draft.state.run
        const effect = advance(draft)
        // Once per run. A run that is cancelled at the same time ends for that reason.
        const isStopped =
          earlier !== 'BUDGET_EXCEEDED' && draft.state.run.stopReason === 'BUDGET_EXCEEDED' && reached[0]
        if (isStopped)
          draft.reachBudget(shownBudget(reached.find(({ whenReached }) => whenReached === 'STOP') ?? isStopped))
        return { state: draft.state, effect, checkpoint: draft.checkpoint() }
      })
    }).catch(undefinedIfRefused),
  )
  if (!committed) throw new LeaseLostError(run.id)
  return committed
}

function shownBudget(budget: BudgetStanding): ReachedBudget {
  const { id, agentId, actorId, period, limitUsd, limitTokens, spentUsd, spentTokens } = budget
  const ofAgent = agentId === null ? null : encodeId('Agent', agentId)
  const limits = { limitUsd, limitTokens, spentUsd, spentTokens }
  return { id: encodeId('Budget', id), agentId: ofAgent, actorId, period, ...limits }
}
