import { afterAll, expect, test } from 'vitest'

import type { ModelPrice } from '../../src/domain/models/usage.ts'
import { startTestApp } from '../support/app.ts'
import { createGatedModel, gatedHandle } from '../support/gated-model.ts'
import { talkTo } from '../support/talk.ts'

const first = createGatedModel()
const spare = createGatedModel()
const price: ModelPrice = { input: 2, output: 10, cachedInput: 1, cacheWrite: 4 }

const handle = 'spare/model'
const models = () => [{ handle, provider: 'spare', contextWindow: 100_000 }]
const providers = [first.provider, { ...spare.provider, name: 'spare', models, priceOf: () => price }]
const app = await startTestApp({ providers })
const talk = talkTo(app)
afterAll(async () => {
  first.assertAllTaken()
  spare.assertAllTaken()
  await app.stop()
})

const withFallbacks = (...fallbacks: string[]) => talk.createAgent({ modelSettings: { fallbacks } })
const overloaded = { type: 'LLM_ERROR', message: 'The model provider is overloaded.' } as const
const steps = async (id: string) => {
  const { run } = await app.data(
    `query ($id: ID!) { run(id: $id) { usage { steps costUsd }
      steps { model status failedModels { model error { type message } } usage { steps inputTokens costUsd } } } }`,
    { id },
  )
  return run
}

test('[FBK1] the next model is asked if one is not available, and the step says which one answered and why', async () => {
  const agent = await withFallbacks('spare/model', gatedHandle)
  const run = await talk.start(agent, 'hello')
  ;(await first.nextCall()).fail({ type: 'LLM_RATE_LIMIT', message: 'Too many requests.' })
  ;(await spare.nextCall()).fail(overloaded)
  const call = await first.nextCall()
  call.say('here')
  call.finish()
  expect(await talk.settled(run)).toMatchObject({ status: 'COMPLETED', answer: 'here' })
  const { usage, steps: made } = await steps(run)
  expect(usage.steps).toBe(3)
  expect(made).toMatchObject([
    {
      model: gatedHandle,
      failedModels: [
        { model: gatedHandle, error: { type: 'LLM_RATE_LIMIT', message: 'Too many requests.' } },
        { model: 'spare/model', error: overloaded },
      ],
      usage: { steps: 3 },
    },
  ])
  // Only the last model of the list is retried.
  expect(first.requests.map(({ hasFallback }) => hasFallback)).toEqual([true, false])
  expect((await talk.log(run)).filter((line) => line.startsWith('Step'))).toEqual(['StepStarted', 'StepFinished'])
})

test('[FBK2] a model that has said something, or refuses the request or the key, is not replaced', async () => {
  const agent = await withFallbacks('spare/model')
  for (const error of ['LLM_ERROR', 'LLM_BAD_REQUEST', 'LLM_AUTHENTICATION'] as const) {
    const run = await talk.start(agent, 'hello')
    const call = await first.nextCall()
    if (error === 'LLM_ERROR') call.say('half an ans')
    call.fail({ type: error })
    expect(await talk.settled(run)).toMatchObject({ status: 'FAILED', error: { type: error } })
    expect((await steps(run)).steps).toMatchObject([{ model: gatedHandle, failedModels: [] }])
  }
})

test('[FBK3] a run fails as the last model did if none is available, and a retry begins with the first', async () => {
  const run = await talk.start(await withFallbacks('spare/model'), 'hello')
  ;(await first.nextCall()).fail({ type: 'LLM_TIMEOUT' })
  ;(await spare.nextCall()).fail({ ...overloaded, retryable: true })
  expect(await talk.settled(run)).toMatchObject({ status: 'FAILED', error: overloaded })
  expect((await steps(run)).steps).toMatchObject([{ model: 'spare/model', failedModels: [{ model: gatedHandle }] }])

  await app.data('mutation ($id: ID!) { retryRun(input: { runId: $id }) { __typename } }', { id: run })
  const call = await first.nextCall()
  call.say('better now')
  call.finish()
  expect(await talk.settled(run)).toMatchObject({ status: 'COMPLETED' })
  expect((await steps(run)).steps).toMatchObject([{ model: gatedHandle, failedModels: [] }])
})

test('[FBK4] a cancel while a fallback answers keeps what it had said', async () => {
  const run = await talk.start(await withFallbacks('spare/model'), 'hello')
  ;(await first.nextCall()).fail(overloaded)
  const call = await spare.nextCall()
  const watch = talk.watch(run)
  call.say('Once upon')
  await watch.until((line) => line.includes('Once upon'))
  await talk.cancel({ runId: run })
  await watch.ended
  expect((await steps(run)).steps).toMatchObject([
    { model: 'spare/model', status: 'CANCELLED', failedModels: [{ model: gatedHandle }] },
  ])
})

test('[FBK5] fallbacks must be models that can be called, at most ten', async () => {
  const create = (fallbacks: readonly string[]) =>
    app.request(
      `mutation ($fallbacks: [String!]) { createAgent(input: { name: "a", model: "${gatedHandle}",
        modelSettings: { fallbacks: $fallbacks } }) { agent { modelSettings { fallbacks } } } }`,
      { fallbacks },
    )
  expect((await create(['nowhere/model'])).errors![0]!.message).toContain('There is no model "nowhere/model"')
  expect((await create(['anthropic/claude-opus-5'])).errors![0]!.message).toContain('ANTHROPIC_API_KEY is not set')
  expect((await create(Array(11).fill('spare/model'))).errors![0]!.message).toContain('10')
  const { data } = await create(['spare/model'])
  expect(data!.createAgent.agent.modelSettings).toEqual({ fallbacks: ['spare/model'] })
})

test('[CST1] cost is what was used at the price of each model, and null if a price is unknown', async () => {
  const priced = await talk.createAgent({ model: 'spare/model' })
  const run = await talk.start(priced, 'hello')
  const call = await spare.nextCall()
  call.say('hi')
  call.finish({ usage: { inputTokens: 1_000, outputTokens: 100, cachedInputTokens: 400, cacheWriteTokens: 100 } })
  await talk.settled(run)
  // 500 × 2 + 400 × 1 + 100 × 4 + 100 × 10, in millionths.
  const costUsd = 0.0028
  const { usage, steps: made } = await steps(run)
  expect({ usage, step: made[0].usage }).toEqual({
    usage: { steps: 1, costUsd },
    step: { steps: 1, inputTokens: 1_000, costUsd },
  })
  const events = await app.events(
    'subscription ($id: ID!) { runEvents(runId: $id) { ... on RunStatusChanged { status usage { costUsd } } } }',
    { id: run },
  )
  const told: unknown[] = []
  for await (const { data } of events) if (data!.runEvents.status) told.push(data!.runEvents.usage.costUsd)
  expect(told).toEqual([0, 0, costUsd])

  const unpriced = await talk.start(await talk.createAgent(), 'hello')
  ;(await first.nextCall()).finish()
  await talk.settled(unpriced)
  expect((await steps(unpriced)).usage).toEqual({ steps: 1, costUsd: null })
})
