import { sql } from 'kysely'
import { afterAll, expect, test } from 'vitest'

import { countEndedRuns } from '../../src/store/usage/count-runs.ts'
import { startTestApp } from '../support/app.ts'
import { createGatedModel, gatedHandle } from '../support/gated-model.ts'
import { talkTo } from '../support/talk.ts'

const model = createGatedModel()
const otherHandle = 'test/other'
const price = { input: 1_000, output: 2_000, cachedInput: 100, cacheWrite: 0 }
const provider = {
  ...model.provider,
  models: () => [gatedHandle, otherHandle].map((handle) => ({ handle, provider: 'test', contextWindow: 100_000 })),
  priceOf: (handle: string) => (handle === gatedHandle ? price : undefined),
}

const app = await startTestApp({ providers: [provider] })
const talk = talkTo(app)
const agentId = await talk.createAgent()
afterAll(() => app.stop())

const usageFields = 'steps inputTokens outputTokens cachedInputTokens reasoningTokens costUsd'
const bucketFields = `from agent { id } model actor { id } runs failedRuns cancelledRuns runP50Ms runP95Ms
  usage { ${usageFields} }`

async function usage(input: object = {}): Promise<any[]> {
  await countEndedRuns(app.database.db)
  const now = new Date().toISOString()
  const given = { from: '2020-01-01T00:00:00Z', to: now, interval: 'ALL', ...input }
  return (await app.data(`query ($input: UsageInput!) { usage(input: $input) { ${bucketFields} } }`, { input: given }))
    .usage
}

/** What all runs of the API add up to. */
async function sumOfRuns(): Promise<any> {
  const { runs } = await app.data(`{ runs(first: 200) { nodes { status usage { ${usageFields} } } } }`)
  const names = usageFields.split(' ').filter((name) => name !== 'costUsd')
  return Object.fromEntries(
    names.map((name) => [name, runs.nodes.reduce((sum: number, run: any) => sum + run.usage[name], 0)]),
  )
}

async function answer(runId: string, tokens: { inputTokens: number; outputTokens: number }): Promise<void> {
  const call = await model.nextCall()
  call.say('yes')
  call.finish({ usage: { cachedInputTokens: 0, reasoningTokens: 0, ...tokens } })
  await talk.settled(runId)
}

test('[USE1] usage is the sum of the runs, to the token, also after failures, retries, cancels and summaries', async () => {
  expect(await usage()).toEqual([])
  const first = await talk.start(agentId, 'one')
  await answer(first, { inputTokens: 100, outputTokens: 10 })
  const failing = await talk.start(agentId, 'two')
  const call = await model.nextCall()
  call.say('half an')
  call.fail()
  await talk.settled(failing)
  const [failed] = await usage()
  expect(failed).toMatchObject({ runs: 2, failedRuns: 1, usage: await sumOfRuns() })

  await app.data('mutation ($id: ID!) { retryRun(input: { runId: $id }) { __typename } }', { id: failing })
  expect((await usage())[0]).toMatchObject({ runs: 1, failedRuns: 0 })
  await answer(failing, { inputTokens: 200, outputTokens: 20 })
  const cancelled = await talk.start(agentId, 'three')
  ;(await model.nextCall()).say('never')
  await talk.cancel({ runId: cancelled })
  const { compactConversation } = await app.data(
    `mutation ($id: ID!) { compactConversation(input: { conversationId: $id, waitMs: 0 }) {
      ... on CompactConversationSuccess { run { id } } } }`,
    { id: (await talk.run(first)).conversation.id },
  )
  await answer(compactConversation.run.id, { inputTokens: 300, outputTokens: 30 })

  const [all] = await usage()
  expect(all).toMatchObject({ runs: 4, failedRuns: 0, cancelledRuns: 1, usage: await sumOfRuns(), agent: null })
  expect(all.usage.costUsd).toBeCloseTo((all.usage.inputTokens * 1_000 + all.usage.outputTokens * 2_000) / 1e6)
  expect(all.runP95Ms).toBeGreaterThanOrEqual(all.runP50Ms)
  const models = await usage({ groupBy: ['MODEL'] })
  expect(models).toMatchObject([
    { model: gatedHandle, runs: 3 },
    { model: null, runs: 1, usage: { inputTokens: 300, outputTokens: 30 } },
  ])
})

test('[USE2] buckets are by hour, day, month or all, by agent, model and actor, and of the given agents', async () => {
  const other = await talk.createAgent({ model: otherHandle })
  await answer(await talk.start(other, 'hello'), { inputTokens: 7, outputTokens: 5 })
  const grouped = await usage({ groupBy: ['AGENT', 'MODEL', 'ACTOR'], agentIds: [other] })
  expect(grouped).toMatchObject([
    {
      agent: { id: other },
      model: otherHandle,
      actor: { id: 'open' },
      runs: 1,
      usage: { inputTokens: 7, costUsd: null },
    },
  ])
  expect(await usage({ agentIds: [] })).toEqual([])
  const starts = []
  const hour = new Date().toISOString().slice(0, 13)
  for (const interval of ['HOUR', 'DAY', 'MONTH', 'ALL'])
    starts.push((await usage({ interval, from: `${hour}:00:00.000Z` }))[0].from)
  expect(starts).toEqual([
    `${hour}:00:00.000Z`,
    `${hour.slice(0, 10)}T00:00:00.000Z`,
    `${hour.slice(0, 7)}-01T00:00:00.000Z`,
    expect.stringContaining(hour),
  ])
  const errors = await app.request('query ($input: UsageInput!) { usage(input: $input) { runs } }', {
    input: { from: '2026-01-01T00:00:00Z', to: '2026-01-01T00:00:00Z', interval: 'DAY' },
  })
  expect(errors).toMatchObject({ errors: [{ extensions: { code: 'BAD_USER_INPUT', field: 'input.to' } }] })
})

test('[USE3] runs count once, whoever counts them and whoever dies, and what was deleted stays counted', async () => {
  const { runs, usage: before } = (await usage())[0]
  const started = []
  for (let place = 0; place < 3; place++) {
    const run = await talk.start(await talk.createAgent(), 'count me')
    await answer(run, { inputTokens: 10, outputTokens: 1 })
    started.push(run)
  }
  const { db } = app.database
  // A process dies before its transaction commits.
  const death = new Error('killed')
  await expect(
    db.transaction().execute(async (trx) => {
      await countEndedRuns(trx)
      throw death
    }),
  ).rejects.toBe(death)
  const { agent } = await talk.run(started[0]!, 0, 'agent { id }')
  await app.data('mutation ($id: ID!) { deleteAgent(input: { id: $id }) { deletedId } }', { id: agent.id })
  for (;;) {
    const { rows } = await sql`select from agents where deleted_at is not null`.execute(db)
    if (rows.length === 0) break
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  await Promise.all(Array.from({ length: 5 }, () => countEndedRuns(db)))
  expect((await usage())[0]).toMatchObject({
    runs: runs + 3,
    usage: { inputTokens: before.inputTokens + 30, outputTokens: before.outputTokens + 3 },
  })
})

test('[USE3] what a run used stays counted if it is deleted before it has ended, or before it was counted', async () => {
  const before = (await usage())[0].usage.inputTokens
  const agent = await talk.createAgent({
    tools: ['memory_insert'],
    toolRules: [{ kind: 'REQUIRES_APPROVAL', tool: 'memory_insert' }],
  })
  const waiting = await talk.start(agent, 'go')
  const call = await model.nextCall()
  call.call('memory_insert', { label: 'a', new_string: 'b' })
  call.finish({ usage: { inputTokens: 1_000, outputTokens: 1, cachedInputTokens: 0, reasoningTokens: 0 } })
  await talk.pending(waiting)
  const other = await talk.createAgent()
  const ended = await talk.start(other, 'go')
  await answer(ended, { inputTokens: 2_000, outputTokens: 2 })
  const { conversation } = await talk.run(ended)
  const clear = 'mutation ($id: ID!) { clearConversation(input: { id: $id }) { __typename } }'
  await app.data(clear, { id: conversation.id })
  await app.data('mutation ($id: ID!) { deleteAgent(input: { id: $id }) { deletedId } }', { id: agent })
  expect((await usage())[0].usage.inputTokens).toBe(before + 3_000)
})

test('[USE4] a run that took longer than an integer of milliseconds is counted like any other', async () => {
  const { runs } = (await usage())[0]
  const run = await talk.start(agentId, 'a month')
  const { db } = app.database
  await sql`update runs set created_at = created_at - interval '30 days' where not ended`.execute(db)
  await answer(run, { inputTokens: 10, outputTokens: 1 })
  expect((await usage())[0]).toMatchObject({ runs: runs + 1, runP95Ms: 2 ** 31 - 1 })
})

test('[USE5] counting a run does not write what was counted before it, however many runs an hour has', async () => {
  const { db } = app.database
  const agent = await talk.createAgent()
  const failing = await talk.start(agent, 'fail')
  ;(await model.nextCall()).fail()
  await talk.settled(failing)
  await usage()
  const many = 500
  await sql`update usage_hours set runs = runs + ${many}, durations = durations || array_fill(7, array[${many}::integer])
    where agent_id = ${agent.slice('agent_'.length)}::uuid`.execute(db)
  const parts = async () =>
    (
      await sql<any>`select part, cardinality(durations) as runs from usage_hours
        where agent_id = ${agent.slice('agent_'.length)}::uuid and model = '*' order by part`.execute(db)
    ).rows
  const { createConversation } = await app.data(
    'mutation ($id: ID!) { createConversation(input: { agentId: $id }) { conversation { id } } }',
    { id: agent },
  )
  await answer(await talk.start(createConversation.conversation.id, 'one more'), { inputTokens: 10, outputTokens: 1 })
  expect(await usage({ agentIds: [agent] })).toMatchObject([{ runs: many + 2, failedRuns: 1, runP50Ms: 7 }])
  expect(await parts()).toEqual([
    { part: 0, runs: many + 1 },
    { part: 1, runs: 1 },
  ])
  // What is taken back is taken from the part that has it.
  await app.data('mutation ($id: ID!) { retryRun(input: { runId: $id }) { __typename } }', { id: failing })
  expect(await usage({ agentIds: [agent] })).toMatchObject([{ runs: many + 1, failedRuns: 0 }])
  expect(await parts()).toEqual([
    { part: 0, runs: many },
    { part: 1, runs: 1 },
  ])
  await answer(failing, { inputTokens: 10, outputTokens: 1 })
})
