import { keyedInput } from '../../commands/idempotency.ts'
import { continueRun } from '../../commands/usage/continue-run.ts'
import { createBudget, deleteBudget, updateBudget } from '../../commands/usage/budget.ts'
import { checkedAllowance } from '../../domain/usage/budget-input.ts'
import type {
  BudgetPeriod as DomainPeriod,
  BudgetStanding,
  WhenBudgetReached as DomainWhenReached,
} from '../../domain/usage/budget.ts'
import { listBudgets, listUnpricedModels } from '../../store/usage/budgets.ts'
import { Agent } from '../agents/agent.ts'
import { builder } from '../builder.ts'
import { describedEnum } from '../described-enum.ts'
import { float, id, implement, int, objectType, of, string, strings, time } from '../fields.ts'
import { linkOrNull } from '../load-existing.ts'
import { deletion, idempotencyKeyField, mutation, outcomes, payload } from '../mutation.ts'
import { Node, requireUuid } from '../node.ts'
import { refusalType } from '../refusal.ts'
import { RunFinishedRefusal } from '../runs/cancel-run.ts'
import { runOfOutcome } from '../runs/run-results.ts'

const BudgetPeriod = describedEnum<DomainPeriod>('BudgetPeriod', 'What a budget is for, in UTC.', {
  DAY: 'A day.',
  MONTH: 'A calendar month.',
  TOTAL: 'All time since the budget was made.',
})

const WhenBudgetReached = describedEnum<DomainWhenReached>(
  'WhenBudgetReached',
  'What happens to a run whose budget is used up.',
  {
    STOP: 'Ends the run with BUDGET_EXCEEDED before the next model request.',
    ASK: 'Pauses the run until someone calls `continueRun` or cancels.',
  },
)

const maxInt = 2 ** 31 - 1

const Budget = builder.objectRef<BudgetStanding>('Budget')
implement(Budget, {
  description:
    'What an agent, an actor or the whole tenant may spend. It is looked at before every request to a model, and used up once what was spent reaches a limit.',
  interfaces: [Node],
  fields: (t) => ({
    agent: linkOrNull(Agent, 'agentId', 'Agent whose runs count. Null: those of all agents.'),
    actorId: string.orNull(
      '`Actor.id` of whoever sends the runs that count. Null: those of all actors, and background runs.',
    ),
    period: of(BudgetPeriod)('The time that the limits are for.'),
    limitUsd: float.orNull('Limit in US dollars. Null means none.'),
    limitTokens: int.orNull('Limit of input and output tokens together. Null means none.'),
    spentUsd: float(
      'US dollars spent in the current period, without models that have no known price. A run counts whole in the period in which it ends, and until then in the current one.',
    ),
    spentTokens: t.int({
      description: 'Input and output tokens used in the current period, counted like `spentUsd`.',
      resolve: ({ spentTokens }) => Math.min(spentTokens, maxInt),
    }),
    resetsAt: time.orNull('When the next period begins. Null for TOTAL.'),
    whenReached: of(WhenBudgetReached)('What happens to a run when a limit is reached.'),
    unpricedModels: t.field({
      ...strings('Models that were used in the period and have no known price: they count by tokens only.'),
      complexity: 20,
      resolve: (budget, _args, { db }) => listUnpricedModels(db, budget),
    }),
    createdAt: time('When the budget was made.'),
  }),
})

builder.queryField('budgets', (t) =>
  t.field({
    ...of([Budget])('All budgets, oldest first, with what was spent of them.'),
    complexity: { field: 20, multiplier: 20 },
    resolve: (_root, _args, { db, viewer }) => listBudgets(db, viewer),
  }),
)

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
