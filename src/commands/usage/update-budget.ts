import type { Viewer } from '../../domain/access/viewer.ts'
import { waitsForBudget } from '../../domain/runs/run.ts'
import { gateOf, type Budget, type BudgetStanding } from '../../domain/usage/budget.ts'
import { mergeBudget, type BudgetInput } from '../../domain/usage/budget-input.ts'
import { changeRun, type ChangeTransaction } from '../../live/change-run.ts'
import { transact } from '../../store/database/transact.ts'
import {
  deleteBudget as deleteStored,
  findBudgets,
  listBudgetsOfRun,
  listRunsWaitingFor,
  lockBudget,
  setBudget,
} from '../../store/usage/budgets.ts'
import type { CommandContext } from '../command-context.ts'
import { found } from '../found.ts'
import { recordChange } from '../record-change.ts'
import { changeOfBudget } from './create-budget.ts'

export interface UpdateBudgetInput extends BudgetInput {
  readonly id: string
}

/** Omitted fields stay unchanged. */
export function updateBudget(
  context: CommandContext,
  viewer: Viewer,
  { id, ...input }: UpdateBudgetInput,
): Promise<BudgetStanding> {
  return transact(context, async (trx, afterCommit) => {
    const before = found('Budget', id, await lockBudget(trx, viewer, id))
    const after = { ...before, ...mergeBudget(before, input) }
    await setBudget(trx, id, after)
    await recordChange(context, trx, viewer, changeOfBudget('updateBudget', before, after))
    await wakeRuns(context, { trx, afterCommit }, after)
    return (await findBudgets(trx, viewer, [id]))[0]!
  })
}

export async function deleteBudget(
  context: CommandContext,
  viewer: Viewer,
  { id }: { readonly id: string },
): Promise<void> {
  await transact(context, async (trx, afterCommit) => {
    const budget = found('Budget', id, await lockBudget(trx, viewer, id))
    await deleteStored(trx, id)
    await recordChange(context, trx, viewer, changeOfBudget('deleteBudget', budget, null))
    await wakeRuns(context, { trx, afterCommit }, budget)
  })
}

/**
 * Lets the runs go on that no longer have to ask: a worker claims them and looks at their budgets again, so a run whose
 * budget stops ends there. The caller has locked the budget. A run that is about to wait for it waits for that lock.
 */
async function wakeRuns(context: CommandContext, transaction: ChangeTransaction, budget: Budget): Promise<void> {
  const { trx } = transaction
  for (const runId of await listRunsWaitingFor(trx, budget)) {
    await changeRun(context, transaction, runId, async (draft) => {
      const { state } = draft
      if (!waitsForBudget(state.run)) return
      if (gateOf(await listBudgetsOfRun(trx, state.run), state) !== 'ASK') draft.setStatus('RUNNING')
    })
  }
}
