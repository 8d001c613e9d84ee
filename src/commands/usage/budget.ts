import type { Viewer } from '../../domain/access/viewer.ts'
import { badUserInput } from '../../domain/errors.ts'
import { checkedName, type Given } from '../../domain/input.ts'
import { type Budget, type BudgetPeriod, type BudgetStanding, gateOf } from '../../domain/usage/budget.ts'
import { mergeBudget, unsetBudget, type BudgetInput } from '../../domain/usage/budget-input.ts'
import { shareAgent } from '../../store/agents/agents.ts'
import {
  findBudgets,
  insertBudget,
  deleteBudget as deleteStored,
  listBudgetsOfRun,
  listRunsWaitingFor,
  lockBudget,
  setBudget,
} from '../../store/usage/budgets.ts'
import type { CommandContext, IdInput } from '../command-context.ts'
import { createOnce } from '../create-once.ts'
import { found, foundOne } from '../found.ts'
import { changeOf, recordChange } from '../record-change.ts'
import { waitsForBudget } from '../../domain/runs/run.ts'
import { changeRun, type ChangeTransaction } from '../../live/change-run.ts'
import { transact } from '../../store/database/transact.ts'

export interface CreateBudgetInput extends BudgetInput {
  readonly agentId?: Given<string>
  readonly actorId?: Given<string>
  readonly period: BudgetPeriod
  readonly idempotencyKey?: Given<string>
}

const maxActorId = 1_000

export function createBudget(
  context: CommandContext,
  viewer: Viewer,
  input: CreateBudgetInput,
): Promise<BudgetStanding> {
  const agentId = input.agentId ?? null
  const actorId =
    typeof input.actorId === 'string' ? checkedName('input.actorId', input.actorId, { max: maxActorId }) : null
  if (agentId !== null && actorId !== null)
    throw badUserInput('input.actorId', 'It cannot be combined with `agentId`. Give one of the two, or neither.')
  const budget: Budget = {
    ...mergeBudget(unsetBudget, input),
    ...{ id: context.ids.next(), tenantId: viewer.tenantId, agentId, actorId, period: input.period },
    createdAt: context.clock.now(),
  }
  const defaults = { whenReached: unsetBudget.whenReached }
  const creation = { mutation: 'createBudget', kind: 'Budget', input, defaults, find: findBudgets } as const
  return createOnce(context, viewer, creation, async (trx) => {
    if (agentId !== null) found('Agent', agentId, await shareAgent(trx, viewer, agentId))
    await insertBudget(trx, budget)
    await recordChange(context, trx, viewer, changeOf('createBudget', 'Budget', null, budget))
    return foundOne('Budget', budget.id, findBudgets(trx, viewer, [budget.id]))
  })
}

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
    await recordChange(context, trx, viewer, changeOf('updateBudget', 'Budget', before, after))
    await wakeRuns(context, { trx, afterCommit }, after)
    return foundOne('Budget', id, findBudgets(trx, viewer, [id]))
  })
}

export async function deleteBudget(context: CommandContext, viewer: Viewer, { id }: IdInput): Promise<void> {
  await transact(context, async (trx, afterCommit) => {
    const budget = found('Budget', id, await lockBudget(trx, viewer, id))
    await deleteStored(trx, id)
    await recordChange(context, trx, viewer, changeOf('deleteBudget', 'Budget', budget, null))
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
