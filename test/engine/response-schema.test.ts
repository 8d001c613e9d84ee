import { afterAll, expect, test } from 'vitest'

import { defineTool } from '../../src/tools/registry.ts'
import { startTestApp } from '../support/app.ts'
import { createGatedModel } from '../support/gated-model.ts'
import { talkTo } from '../support/talk.ts'

const model = createGatedModel()
const echo = defineTool({
  name: 'echo',
  description: 'Says hello.',
  parameters: { type: 'object' },
  run: () => 'hello',
})
const responseSchema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }

const app = await startTestApp({ providers: [model.provider], tools: [echo] })
const talk = talkTo(app)
afterAll(async () => {
  model.assertAllTaken()
  await app.stop()
})

async function answer(text: string) {
  const call = await model.nextCall()
  call.say(text)
  call.finish()
  return call
}

/** How the run ended, and its output. */
async function ended(id: string) {
  await talk.settled(id)
  const { run } = await app.data(
    `query ($id: ID!) { run(id: $id) { status stopReason output answer error { type message } steps { status stopReason error { message } }
      messages(first: 50) { nodes { __typename ... on SystemMessage { text } ... on AssistantMessage { text } } } } }`,
    { id },
  )
  return run
}

test('[CNT1] an answer that does not satisfy the schema goes back to the model, at most twice', async () => {
  const agent = await talk.createAgent({ modelSettings: { responseSchema } })
  const run = await talk.start(agent, 'where?')
  const first = await answer('In Paris.')
  expect(first.request.settings.responseSchema).toEqual(responseSchema)
  const second = await answer('{"city": 7}')
  expect(second.request.messages.at(-1)).toMatchObject({
    role: 'system',
    text: expect.stringMatching(/not a JSON value.*Answer again/),
  })
  const third = await answer('```json\n{"city": "Paris"}\n```')
  expect(third.request.messages.at(-1)).toMatchObject({
    role: 'system',
    text: expect.stringMatching(/\/city must be string/),
  })
  expect(await ended(run)).toMatchObject({
    status: 'COMPLETED',
    stopReason: 'END_TURN',
    output: { city: 'Paris' },
    error: null,
    steps: [{ stopReason: null }, { stopReason: null }, { stopReason: 'END_TURN', error: null }],
  })

  // A later change of the agent does not change the run's output.
  await app.data('mutation ($input: UpdateAgentInput!) { updateAgent(input: $input) { agent { id } } }', {
    input: { id: agent, modelSettings: { responseSchema: { type: 'array' } } },
  })
  expect((await ended(run)).output).toEqual({ city: 'Paris' })
})

test('[CNT1][CNT2] a run whose model cannot do it fails, accepts the next message, and can be retried', async () => {
  const agent = await talk.createAgent({ modelSettings: { responseSchema } })
  const run = await talk.start(agent, 'where?')
  await answer('Paris')
  await answer('')
  await answer('{}')
  const failed = await ended(run)
  expect(failed).toMatchObject({
    status: 'FAILED',
    stopReason: 'RESPONSE_SCHEMA_NOT_SATISFIED',
    output: null,
    answer: '{}',
    error: { type: 'LLM_ERROR', message: expect.stringMatching(/must have required property 'city'/) },
    messages: {
      nodes: [
        { __typename: 'UserMessage' },
        { __typename: 'AssistantMessage', text: 'Paris' },
        { __typename: 'SystemMessage' },
        { __typename: 'SystemMessage' },
        { __typename: 'AssistantMessage', text: '{}' },
      ],
    },
  })
  await app.data('mutation ($id: ID!) { retryRun(input: { runId: $id }) { __typename } }', { id: run })
  const retried = await answer('[]')
  expect(retried.request.messages.at(-1)).toMatchObject({
    role: 'system',
    text: expect.stringMatching(/required property 'city'/),
  })
  expect(await ended(run)).toMatchObject({ status: 'FAILED', stopReason: 'RESPONSE_SCHEMA_NOT_SATISFIED' })
  await app.data('mutation ($id: ID!) { retryRun(input: { runId: $id }) { __typename } }', { id: run })
  await answer('{"city":"Rome"}')
  expect(await ended(run)).toMatchObject({ status: 'COMPLETED', output: { city: 'Rome' }, error: null })

  const next = await talk.start(agent, 'and now?')
  await answer('{"city":"Oslo"}')
  expect(await ended(next)).toMatchObject({ status: 'COMPLETED', output: { city: 'Oslo' } })
})

test('[CNT3] the schema of the request replaces that of the agent, and only the final answer is checked', async () => {
  const agent = await talk.createAgent({ tools: ['echo'], modelSettings: { responseSchema } })
  const free = await talk.start(agent, 'where?', { responseSchema: null })
  expect((await answer('Paris')).request.settings.responseSchema).toBeNull()
  expect(await ended(free)).toMatchObject({ status: 'COMPLETED', output: null, answer: 'Paris' })

  const list = await talk.start(agent, 'where?', { responseSchema: { type: 'array', items: { type: 'integer' } } })
  const calling = await model.nextCall()
  calling.say('I look it up.')
  calling.call('echo', {})
  calling.finish()
  await answer('[1, 2]')
  expect(await ended(list)).toMatchObject({ status: 'COMPLETED', output: [1, 2] })

  const cut = await talk.start(agent, 'where?')
  const long = await model.nextCall()
  long.say('{"city": "Par')
  long.finish({ reason: 'length' })
  expect(await ended(cut)).toMatchObject({ status: 'COMPLETED', stopReason: 'MAX_TOKENS_EXCEEDED', output: null })

  for (const bad of [[], { type: 'no such type' }]) {
    const { errors } = await app.request(
      'mutation ($input: SendMessageInput!) { sendMessage(input: $input) { __typename } }',
      { input: { to: { agentId: agent }, messages: [{ text: 'x' }], responseSchema: bad } },
    )
    expect(errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT', field: 'input.responseSchema' } }])
  }
})
