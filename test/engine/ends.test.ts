import { afterAll, expect, test } from 'vitest'

import { answerLimits } from '../../src/domain/models/answer-limits.ts'
import { startTestApp } from '../support/app.ts'
import { talkTo } from '../support/talk.ts'
import { createGatedModel } from '../support/gated-model.ts'
import { defineTool } from '../../src/tools/registry.ts'

const model = createGatedModel()
const echo = defineTool({
  name: 'echo',
  description: 'Returns what it is given.',
  parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  run: ({ text }) => `echo: ${text}`,
})

const app = await startTestApp({ providers: [model.provider], tools: [echo] })
const talk = talkTo(app)
afterAll(async () => {
  model.assertAllTaken()
  await app.stop()
})

const retry = async (run: string) =>
  (
    await app.data(
      `mutation ($run: ID!) { retryRun(input: { runId: $run }) { __typename ... on Refusal { message }
        ... on RetryRunSuccess { run { id status attempts } } } }`,
      { run },
    )
  ).retryRun

test('[ENG1] a failed model call ends the run, stores nothing of the answer, and takes its input out of the context', async () => {
  const agent = await talk.createAgent()
  const run = await talk.start(agent, 'refused')
  const call = await model.nextCall()
  call.say('half a sentence')
  call.fail({ type: 'LLM_RATE_LIMIT', message: 'Too many.' })
  const ended = await talk.settled(run)
  expect(ended).toMatchObject({
    status: 'FAILED',
    stopReason: 'LLM_API_ERROR',
    error: { type: 'LLM_RATE_LIMIT', message: 'Too many.', retryable: true },
    messages: { nodes: [{ __typename: 'UserMessage', text: 'refused', inContext: false }] },
  })
  expect(await talk.log(run)).toEqual([
    'RunStatusChanged QUEUED',
    'RunStatusChanged RUNNING',
    'MessageAdded UserMessage',
    'StepStarted',
    'StepFinished',
    'RunStatusChanged FAILED',
  ])

  const next = await talk.start(agent, 'and now')
  const answer = await model.nextCall()
  expect(answer.request.messages).toEqual([{ role: 'user', content: [{ text: 'and now' }] }])
  answer.finish()
  expect(await talk.settled(next)).toMatchObject({ status: 'COMPLETED', stopReason: 'END_TURN' })
})

test('[ENG2] retryRun continues from the last stored step, with the input back in the context', async () => {
  const agent = await talk.createAgent({ tools: ['echo'] })
  const run = await talk.start(agent, 'go')
  const first = await model.nextCall()
  first.call('echo', { text: 'once' })
  first.finish()
  const second = await model.nextCall()
  second.breakOff()
  expect(await talk.settled(run)).toMatchObject({ status: 'FAILED', stopReason: 'INVALID_LLM_RESPONSE' })

  expect(await retry(run)).toMatchObject({ __typename: 'RetryRunSuccess', run: { id: run } })
  const again = await model.nextCall()
  expect(again.request.messages).toEqual(second.request.messages)
  again.say('done')
  again.finish()
  const ended = await talk.settled(run)
  expect(ended).toMatchObject({ status: 'COMPLETED', answer: 'done', attempts: 2, error: null, usage: { steps: 3 } })
  expect(ended.messages.nodes.map((message: any) => message.__typename)).toEqual([
    'UserMessage',
    'ToolCallMessage',
    'ToolReturnMessage',
    'AssistantMessage',
  ])
  expect((await talk.log(run)).slice(-6)).toEqual([
    'RunStatusChanged QUEUED',
    'RunStatusChanged RUNNING',
    'StepRestarted',
    'MessageAdded AssistantMessage',
    'StepFinished',
    'RunStatusChanged COMPLETED',
  ])
  expect(await retry(run)).toMatchObject({ __typename: 'RunNotRetryableRefusal' })
})

test('[ENG3] a run cannot be retried once later messages are stored, even if it is the latest by number', async () => {
  const agent = await talk.createAgent()
  const first = await talk.start(agent, 'one')
  const held = await model.nextCall()
  const waiting = await talk.start(agent, 'two', { whenBusy: 'ENQUEUE' })
  const urgent = await talk.start(agent, 'three', { whenBusy: 'INTERRUPT' })
  await held.aborted
  ;(await model.nextCall()).fail()
  expect(await talk.settled(urgent)).toMatchObject({ status: 'FAILED' })
  const last = await model.nextCall()
  last.say('later')
  last.finish()
  expect(await talk.settled(first)).toMatchObject({ status: 'CANCELLED' })
  expect(await talk.settled(waiting)).toMatchObject({ status: 'COMPLETED' })
  expect(await retry(urgent)).toMatchObject({ __typename: 'RunNotRetryableRefusal' })
})

test('[ENG4] a run ends at its step limit, counted over the whole run, and its conversation is well-formed', async () => {
  const agent = await talk.createAgent({ tools: ['echo'] })
  const run = await talk.start(agent, 'go', { maxSteps: 2 })
  for (let step = 0; step < 2; step++) {
    const call = await model.nextCall()
    call.call('echo', { text: `${step}` })
    call.finish()
  }
  expect(await talk.settled(run)).toMatchObject({ status: 'COMPLETED', stopReason: 'MAX_STEPS', usage: { steps: 2 } })
  const next = await talk.start(agent, 'next')
  const call = await model.nextCall()
  expect(call.request.messages.map((message) => message.role)).toEqual([
    'user',
    'assistant',
    'tool',
    'assistant',
    'tool',
    'user',
  ])
  call.finish()
  await talk.settled(next)
})

test('[ENG5] a run ends when its token budget is used up, and when an answer is cut off', async () => {
  const agent = await talk.createAgent({ tools: ['echo'] })
  const spent = await talk.start(agent, 'go', { maxTotalTokens: 100 })
  const call = await model.nextCall()
  call.call('echo', { text: 'x' })
  call.finish({ usage: { inputTokens: 80, outputTokens: 20 } })
  expect(await talk.settled(spent)).toMatchObject({
    status: 'COMPLETED',
    stopReason: 'BUDGET_EXCEEDED',
    usage: { totalTokens: 100 },
  })
  const cut = await talk.start(agent, 'go')
  const long = await model.nextCall()
  long.say('a long')
  long.finish({ reason: 'length' })
  expect(await talk.settled(cut)).toMatchObject({
    status: 'COMPLETED',
    stopReason: 'MAX_TOKENS_EXCEEDED',
    answer: 'a long',
  })
})

test('[ENG6] characters in a model’s arguments that Postgres refuses do not fail a run', async () => {
  const agent = await talk.createAgent({ tools: ['echo'] })
  const run = await talk.start(agent, 'go')
  const call = await model.nextCall()
  call.call('echo', '{"text":"a\\u0000b\\ud800c","big":1e999}')
  call.call('echo', `{"text":"deep","nested":${'['.repeat(20_000)}${']'.repeat(20_000)}}`)
  call.call('echo', 'not JSON')
  // The explanation shows the first 500 characters: the last of them is half of this one.
  call.call('echo', `${'x'.repeat(499)}👋`)
  call.finish()
  const next = await model.nextCall()
  const returned = next.request.messages.at(-1)!
  expect(returned.role === 'tool' && returned.returns.map(({ output }) => output.slice(0, 20))).toEqual([
    'echo: ab\ufffdc',
    'The arguments of ech',
    'The arguments of ech',
    'The arguments of ech',
  ])
  next.finish()
  expect(await talk.settled(run)).toMatchObject({ status: 'COMPLETED', attempts: 1 })
})

test('[ENG6] nor do such characters in the error of a provider', async () => {
  const run = await talk.start(await talk.createAgent(), 'go')
  ;(await model.nextCall()).fail({ message: 'It said \u0000 and \ud83d.', detail: '\u0000', retryable: false })
  expect(await talk.settled(run)).toMatchObject({
    ...{ status: 'FAILED', attempts: 1 },
    error: { type: 'LLM_ERROR', message: 'It said  and \ufffd.' },
  })
})

test('[ENG64] the longest name and id that a call may have are stored, in any script', async () => {
  const run = await talk.start(await talk.createAgent(), 'go')
  // Characters of three bytes that Postgres cannot compress.
  const letters = (count: number) =>
    Array.from({ length: count }, (_, index) => String.fromCodePoint(0x4e00 + ((index * 7_919 + index ** 3) % 20_000)))
  const name = letters(answerLimits.nameCharacters).join('')
  const call = await model.nextCall()
  call.call(name, {}, { callId: letters(answerLimits.idCharacters).join('') })
  call.finish()
  ;(await model.nextCall()).finish()
  expect(await talk.settled(run)).toMatchObject({
    status: 'COMPLETED',
    attempts: 1,
    steps: [{ toolCalls: [{ name }] }, {}],
  })
})

test('[ENG32] returns that a provider refused are withheld from then on, and sent again by a retry', async () => {
  const agent = await talk.createAgent({ tools: ['echo'] })
  const run = await talk.start(agent, 'go')
  const first = await model.nextCall()
  first.call('echo', { text: 'unspeakable' })
  first.finish()
  const second = await model.nextCall()
  second.fail({ type: 'LLM_BAD_REQUEST', message: 'The request was refused.', retryable: false })
  expect(await talk.settled(run)).toMatchObject({ status: 'FAILED', error: { type: 'LLM_BAD_REQUEST' } })

  expect(await retry(run)).toMatchObject({ __typename: 'RetryRunSuccess' })
  const again = await model.nextCall()
  expect(again.request.messages).toEqual(second.request.messages)
  again.fail({ type: 'LLM_BAD_REQUEST', message: 'The request was refused.', retryable: false })
  await talk.settled(run)

  const next = await talk.start(agent, 'and now')
  const call = await model.nextCall()
  expect(call.request.messages.slice(-2)).toEqual([
    {
      role: 'tool',
      returns: [{ callId: 'call_0', name: 'echo', failed: true, output: 'withheld: the provider refused it' }],
    },
    { role: 'user', content: [{ text: 'and now' }] },
  ])
  call.finish()
  await talk.settled(next)
  const { toolCalls } = (await talk.run(run)).steps[0]!
  expect(toolCalls[0]).toMatchObject({ status: 'SUCCEEDED', result: { output: 'echo: unspeakable' } })
})

test('[ENG33] a run that is failed as poison leaves nothing in the context that would kill the next one', async () => {
  const agent = await talk.createAgent()
  const run = await talk.start(agent, 'deadly')
  const held = await model.nextCall()
  // As if three workers had died of it.
  await app.database.pool.query('update runs set deaths = 3, lease = null, worker_id = null where not ended')
  held.finish()
  expect(await talk.settled(run)).toMatchObject({
    status: 'FAILED',
    stopReason: 'ERROR',
    error: { type: 'INTERNAL_ERROR', retryable: true },
    messages: { nodes: [{ text: 'deadly', inContext: false }] },
  })
  const next = await talk.start(agent, 'and now')
  const call = await model.nextCall()
  expect(call.request.messages).toEqual([{ role: 'user', content: [{ text: 'and now' }] }])
  call.finish()
  await talk.settled(next)
})
