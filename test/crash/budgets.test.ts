import { afterAll, beforeAll, expect, test } from 'vitest'

import { CrashCluster } from '../support/crash-cluster.ts'
import type { BudgetPoint } from '../support/kill-points.ts'
import { talkTo } from '../support/talk.ts'

let cluster: CrashCluster

beforeAll(async () => {
  cluster = await CrashCluster.start(1)
})
afterAll(() => cluster.stop())

type Budget = { readonly agentId: string; readonly budgetId: string; readonly runId: string }

async function ask(document: string, variables: object): Promise<any> {
  return (await cluster.client(0)).data(document, variables)
}

/** A run of an agent whose budget allows nothing and asks. */
async function start(): Promise<Budget> {
  const agentId = await cluster.createAgent()
  const { createBudget } = await ask(
    'mutation ($input: CreateBudgetInput!) { createBudget(input: $input) { budget { id } } }',
    { input: { agentId, period: 'DAY', limitTokens: 0, whenReached: 'ASK' } },
  )
  const runId = await talkTo(await cluster.client(0)).start(agentId, 'go')
  return { agentId, budgetId: createBudget.budget.id, runId }
}

const settled = async ({ runId }: Budget) =>
  talkTo(await cluster.client(0)).settled(runId, 'status waitingFor stopReason usage { steps }')

const waiting = { status: 'AWAITING_APPROVAL', waitingFor: ['BUDGET'], usage: { steps: 0 } }

const continueRun = ({ runId }: Budget) =>
  ask(`mutation ($input: ContinueRunInput!) { continueRun(input: $input) { __typename } }`, {
    input: { runId, allowTokens: 1_000, idempotencyKey: runId },
  })
const raise = ({ budgetId: id }: Budget) =>
  ask('mutation ($input: UpdateBudgetInput!) { updateBudget(input: $input) { budget { id } } }', {
    input: { id, limitTokens: 1_000_000 },
  })
const remove = ({ budgetId: id }: Budget) =>
  ask('mutation ($input: DeleteBudgetInput!) { deleteBudget(input: $input) { deletedId } }', { input: { id } })

test.each<BudgetPoint>(['budgets locked', 'budget committed'])(
  '[BUD10] a run whose process is killed at "%s" while it pauses waits for its budget once a process is there',
  async (point) => {
    await cluster.arm(0, point)
    // The answer may be lost with the server.
    const budget = await start()
    await cluster.death(0)
    await cluster.startServer(0)
    expect(await settled(budget)).toMatchObject(waiting)
    expect(await continueRun(budget)).toEqual({ continueRun: { __typename: 'ContinueRunSuccess' } })
    expect(await settled(budget)).toMatchObject({ status: 'COMPLETED', stopReason: 'END_TURN' })
  },
)

test.each<[string, BudgetPoint, (budget: Budget) => Promise<unknown>]>([
  ['continueRun', 'allowance stored', continueRun],
  ['continueRun', 'budget committed', continueRun],
  ['a raise', 'budget changed', raise],
  ['a raise', 'budget committed', raise],
  ['a deletion', 'budget changed', remove],
  ['a deletion', 'budget committed', remove],
])('[BUD10] %s whose process is killed at "%s" happened whole or not at all', async (_name, point, change) => {
  const budget = await start()
  expect(await settled(budget)).toMatchObject(waiting)
  await cluster.arm(0, point)
  await change(budget).catch(() => undefined)
  await cluster.death(0)
  await cluster.startServer(0)
  if (point === 'budget committed') {
    // The run can be claimed since the commit, whatever became of the process.
    await until(budget, 'COMPLETED')
  } else {
    expect(await settled(budget)).toMatchObject(waiting)
    await change(budget)
  }
  await until(budget, 'COMPLETED')
  expect(await settled(budget)).toMatchObject({ stopReason: 'END_TURN' })
})

async function until(budget: Budget, status: string): Promise<void> {
  while ((await settled(budget).catch(() => undefined))?.status !== status)
    await new Promise((resolve) => setTimeout(resolve, 50))
}
