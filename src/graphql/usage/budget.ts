import type { BudgetPeriod as DomainPeriod, WhenBudgetReached as DomainWhenReached } from '../../domain/usage/budget.ts'
import { listBudgets, listUnpricedModels } from '../../store/usage/budgets.ts'
import { Agent } from '../agents/agent.ts'
import { builder } from '../builder.ts'
import { describedEnum } from '../described-enum.ts'
import { linkOrNull } from '../load-existing.ts'
import { Node } from '../node.ts'
import { Budget } from '../refs.ts'
import { float, implement, int, of, string, time } from '../fields.ts'

export const BudgetPeriod = describedEnum<DomainPeriod>('BudgetPeriod', 'What a budget is for, in UTC.', {
  DAY: 'A day.',
  MONTH: 'A calendar month.',
  TOTAL: 'All time since the budget was made.',
})

export const WhenBudgetReached = describedEnum<DomainWhenReached>(
  'WhenBudgetReached',
  'What happens to a run whose budget is used up.',
  {
    STOP: 'Ends the run with BUDGET_EXCEEDED before the next model request.',
    ASK: 'Pauses the run until someone calls `continueRun` or cancels.',
  },
)

const maxInt = 2 ** 31 - 1

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
      type: ['String'],
      description: 'Models that were used in the period and have no known price: they count by tokens only.',
      complexity: 20,
      resolve: (budget, _args, { db }) => listUnpricedModels(db, budget),
    }),
    createdAt: time('When the budget was made.'),
  }),
})

builder.queryField('budgets', (t) =>
  t.field({
    type: [Budget],
    description: 'All budgets, oldest first, with what was spent of them.',
    complexity: { field: 20, multiplier: 20 },
    resolve: (_root, _args, { db, viewer }) => listBudgets(db, viewer),
  }),
)
