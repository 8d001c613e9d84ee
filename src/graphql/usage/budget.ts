import type { BudgetPeriod as DomainPeriod, WhenBudgetReached as DomainWhenReached } from '../../domain/usage/budget.ts'
import { listBudgets, listUnpricedModels } from '../../store/usage/budgets.ts'
import { Agent } from '../agents/agent.ts'
import { builder } from '../builder.ts'
import { describedEnum } from '../described-enum.ts'
import { Node } from '../node.ts'
import { Budget } from '../refs.ts'

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

Budget.implement({
  description:
    'What an agent, an actor or the whole tenant may spend. It is looked at before every request to a model, and used up once what was spent reaches a limit.',
  interfaces: [Node],
  fields: (t) => ({
    agent: t.field({
      type: Agent,
      nullable: true,
      description: 'Agent whose runs count. Null: those of all agents.',
      resolve: ({ agentId }, _args, { loaders }) => (agentId === null ? null : loaders.agents.load(agentId)),
    }),
    actorId: t.exposeString('actorId', {
      nullable: true,
      description: '`Actor.id` of whoever sends the runs that count. Null: those of all actors, and background runs.',
    }),
    period: t.expose('period', { type: BudgetPeriod, description: 'The time that the limits are for.' }),
    limitUsd: t.exposeFloat('limitUsd', { nullable: true, description: 'Limit in US dollars. Null means none.' }),
    limitTokens: t.exposeInt('limitTokens', {
      nullable: true,
      description: 'Limit of input and output tokens together. Null means none.',
    }),
    spentUsd: t.exposeFloat('spentUsd', {
      description:
        'US dollars spent in the current period, without models that have no known price. A run counts whole in the period in which it ends, and until then in the current one.',
    }),
    spentTokens: t.int({
      description: 'Input and output tokens used in the current period, counted like `spentUsd`.',
      resolve: ({ spentTokens }) => Math.min(spentTokens, maxInt),
    }),
    resetsAt: t.expose('resetsAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the next period begins. Null for TOTAL.',
    }),
    whenReached: t.expose('whenReached', {
      type: WhenBudgetReached,
      description: 'What happens to a run when a limit is reached.',
    }),
    unpricedModels: t.field({
      type: ['String'],
      description: 'Models that were used in the period and have no known price: they count by tokens only.',
      complexity: 20,
      resolve: (budget, _args, { db }) => listUnpricedModels(db, budget),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the budget was made.' }),
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
