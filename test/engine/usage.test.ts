import { afterAll, expect, test } from 'vitest'

import { sumOfTokens } from '../../src/domain/models/usage.ts'
import { defineTool } from '../../src/tools/registry.ts'
import { startTestApp } from '../support/app.ts'
import { talkTo } from '../support/talk.ts'
import { createGatedModel } from '../support/gated-model.ts'

const model = createGatedModel()
const echo = defineTool({
  name: 'echo',
  description: 'Returns what it is given.',
  parameters: { type: 'object', properties: {} },
  run: () => 'echo',
})

const app = await startTestApp({ providers: [model.provider], tools: [echo] })
const talk = talkTo(app)
afterAll(async () => {
  model.assertAllTaken()
  await app.stop()
})

const fields = `status usage { steps inputTokens outputTokens }
  steps { status usage { inputTokens outputTokens } metrics { timeToFirstTokenMs modelMs } }`
const shown = async (id: string) => (await app.data(`query ($id: ID!) { run(id: $id) { ${fields} } }`, { id })).run
const cancel = (id: string) =>
  app.data('mutation ($id: ID!) { cancelRun(input: { runId: $id }) { __typename } }', { id })
const retry = (id: string) => app.data('mutation ($id: ID!) { retryRun(input: { runId: $id }) { __typename } }', { id })

const measured = { timeToFirstTokenMs: expect.any(Number), modelMs: expect.any(Number) }

test('[PRV28] a sum of tokens stops at the largest integer of the API, and what is not a count is 0', () => {
  expect(sumOfTokens(2 ** 30, 2 ** 30 - 1)).toBe(2 ** 31 - 1)
  expect(sumOfTokens(2 ** 31 - 1, 1)).toBe(2 ** 31 - 1)
  expect(sumOfTokens(Infinity, Number.NaN)).toBe(2 ** 31 - 1)
  expect(sumOfTokens(-5, 2.9)).toBe(2)
})

test('[PRV42] a cancelled request is counted, with what it used and how long it took', async () => {
  const run = await talk.start(await talk.createAgent(), 'tell me a story')
  const call = await model.nextCall()
  call.say('Once upon a time')
  await watchText(run)
  await cancel(run)
  const { usage, steps, status } = await shown(run)
  expect({ status, count: usage.steps }).toEqual({ status: 'CANCELLED', count: 1 })
  // The provider could not report it, so it is an estimate of what was sent and received.
  expect(usage.inputTokens).toBeGreaterThan(10)
  expect(usage.outputTokens).toBe(4)
  expect(steps).toEqual([
    { status: 'CANCELLED', usage: { inputTokens: usage.inputTokens, outputTokens: 4 }, metrics: measured },
  ])
})

test('[PRV42] a failed request is counted; what the provider reported before it failed is believed', async () => {
  const agent = await talk.createAgent()
  const failed = await talk.start(agent, 'hello')
  const call = await model.nextCall()
  call.part({ type: 'usage', usage: { inputTokens: 70, outputTokens: 1, cachedInputTokens: 0, reasoningTokens: 0 } })
  call.say('Once upon a time')
  call.fail()
  await talk.settled(failed)
  expect(await shown(failed)).toMatchObject({
    usage: { steps: 1, inputTokens: 70, outputTokens: 4 },
    steps: [{ status: 'FAILED', usage: { inputTokens: 70, outputTokens: 4 }, metrics: measured }],
  })

  const refused = await talk.start(agent, 'hello')
  ;(await model.nextCall()).fail()
  await talk.settled(refused)
  expect(await shown(refused)).toMatchObject({
    usage: { steps: 1, inputTokens: 0, outputTokens: 0 },
    steps: [{ metrics: { timeToFirstTokenMs: null, modelMs: expect.any(Number) } }],
  })
})

test('[PRV43] a retried step keeps what its failed attempts used, and they do not count towards the step limit', async () => {
  const run = await talk.start(await talk.createAgent({ tools: ['echo'] }), 'go', { maxSteps: 2 })
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const call = await model.nextCall()
    call.say('half')
    call.part({ type: 'usage', usage: { inputTokens: 10, outputTokens: 1, cachedInputTokens: 0, reasoningTokens: 0 } })
    call.fail()
    await talk.settled(run)
    await retry(run)
  }
  const first = await model.nextCall()
  first.call('echo', {})
  first.finish({ usage: { inputTokens: 10, outputTokens: 5 } })
  ;(await model.nextCall()).finish({ usage: { inputTokens: 20, outputTokens: 5 } })
  expect(await talk.settled(run)).toMatchObject({ status: 'COMPLETED', stopReason: 'END_TURN' })
  expect(await shown(run)).toMatchObject({
    usage: { steps: 5, inputTokens: 60, outputTokens: 13 },
    steps: [{ usage: { inputTokens: 40, outputTokens: 8 } }, { usage: { inputTokens: 20, outputTokens: 5 } }],
  })
})

async function watchText(run: string): Promise<void> {
  const stream = await app.events('subscription ($id: ID!) { runEvents(runId: $id) { ... on TextDelta { text } } }', {
    id: run,
  })
  for await (const { data } of stream) if (data!.runEvents.text) return
}
