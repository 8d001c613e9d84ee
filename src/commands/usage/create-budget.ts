import type { Viewer } from '../../domain/access/viewer.ts'
import { badUserInput } from '../../domain/errors.ts'
import { encodeId } from '../../domain/ids.ts'
import { checkedName, type Given } from '../../domain/input.ts'
import type { Budget, BudgetPeriod, BudgetStanding } from '../../domain/usage/budget.ts'
import { mergeBudget, unsetBudget, type BudgetInput } from '../../domain/usage/budget-input.ts'
import { shareAgent } from '../../store/agents/agents.ts'
import { findBudgets, insertBudget } from '../../store/usage/budgets.ts'
import type { CommandContext } from '../command-context.ts'
import { createOnce } from '../create-once.ts'
import { found } from '../found.ts'
import { changeOf, recordChange, type Change } from '../record-change.ts'

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
    await recordChange(context, trx, viewer, changeOfBudget('createBudget', null, budget))
    return (await findBudgets(trx, viewer, [budget.id]))[0]!
  })
}

/** As the audit log shows it. */
export function changeOfBudget(action: string, before: Budget | null, after: Budget | null): Change {
  return changeOf(action, 'Budget', before && shown(before), after && shown(after))
}

function shown({ agentId, ...budget }: Budget) {
  return { ...budget, agentId: agentId === null ? null : encodeId('Agent', agentId) }
}
