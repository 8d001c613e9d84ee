import { continueRun } from '../../commands/usage/continue-run.ts'
import { createBudget } from '../../commands/usage/create-budget.ts'
import { deleteBudget, updateBudget } from '../../commands/usage/update-budget.ts'
import { keyedInput } from '../../commands/idempotency.ts'
import { checkedAllowance } from '../../domain/usage/budget-input.ts'
import { deletion, idempotencyKeyField, mutation, outcomes, payload } from '../mutation.ts'
import { requireUuid } from '../node.ts'
import { Budget } from '../refs.ts'
import { refusalType } from '../refusal.ts'
import { RunFinishedRefusal } from '../runs/cancel-run.ts'
import { runOfOutcome } from '../runs/run-results.ts'
import { BudgetPeriod, WhenBudgetReached } from './budget.ts'
import { float, id, int, objectType, of, string } from '../fields.ts'

const settingFields = {
  limitUsd: float('Limit in US dollars, 0 or more. Null, the default, means none.'),
  limitTokens: int('Limit of input and output tokens together, 0 or more. Null, the default, means none.'),
  whenReached: of(WhenBudgetReached)('What happens to a run when a limit is reached. Defaults to STOP.'),
}

mutation('createBudget', {
  description: 'Limits what an agent, an actor or the whole tenant may spend. Give at least one limit.',
  input: {
    description: 'A new budget.',
    fields: {
      agentId: id('Id of the agent whose runs count. Defaults to all agents.'),
      actorId: string(
        '`Actor.id` of whoever sends the runs that count. Not together with `agentId`. Defaults to everybody.',
      ),
      period: of(BudgetPeriod).required('The time that the limits are for, in UTC.'),
      ...settingFields,
      idempotencyKey: idempotencyKeyField,
    },
  },
  result: payload('budget', Budget, 'The new budget.'),
  resolve(input, context) {
    const { agentId } = input
    const given = typeof agentId === 'string' ? { ...input, agentId: requireUuid('Agent', agentId) } : input
    return createBudget(context, context.viewer, given)
  },
})

mutation('updateBudget', {
  description:
    'Changes a budget. Runs that waited for it go on if it has something left, and end if it now stops runs.',
  input: {
    description: 'Changes to a budget. Omitted fields stay unchanged.',
    fields: { id: id.required('Id of the budget.'), ...settingFields },
  },
  result: payload('budget', Budget, 'The changed budget.'),
  resolve: (input, context) => updateBudget(context, context.viewer, { ...input, id: requireUuid('Budget', input.id) }),
})

deletion('deleteBudget', {
  description: 'Deletes a budget. Runs that waited for it go on.',
  kind: 'Budget',
  command: deleteBudget,
})

mutation('continueRun', {
  description:
    'Lets a run that waits for a budget go on, with this much more for this run alone. Requires APPROVE; recorded with who and when.',
  input: {
    description: 'The run, and how much more it may spend. Give an amount in a unit that the budget limits.',
    fields: {
      runId: id.required('Id of the run.'),
      allowUsd: float('US dollars that the run may spend from now on, above 0.'),
      allowTokens: int('Tokens that the run may use from now on, above 0.'),
      idempotencyKey: idempotencyKeyField,
    },
  },
  result: outcomes({
    continued: objectType('ContinueRunSuccess', {
      description: 'The run goes on.',
      fields: { run: runOfOutcome('The run.') },
    }),
    finished: RunFinishedRefusal,
    'not waiting': refusalType('NotWaitingForBudgetRefusal', {
      description: 'The run does not wait for a budget.',
      says: 'The run does not wait for a budget.',
      fields: {},
    }),
  }),
  async resolve(input, context) {
    const runId = requireUuid('Run', input.runId)
    const result = await continueRun(context, context.viewer, {
      runId,
      allow: checkedAllowance(input),
      keyed: keyedInput(context.viewer, 'continueRun', input),
    })
    return { ...result, runId }
  },
})
