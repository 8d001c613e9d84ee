import { afterAll, beforeAll, expect, test } from 'vitest'

import { defineTool } from '../../src/tools/registry.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { secretKey, type FakeProvider } from '../support/fake-providers/fake-model.ts'
import { talkTo, type Talk } from '../support/talk.ts'
import { fakes } from '../providers/speakers.ts'

const names = Object.keys(fakes) as (keyof typeof fakes)[]
const started = {} as Record<keyof typeof fakes, FakeProvider>
let env: Record<string, string>
let app: TestApp
let talk: Talk

const tools = ['echo', 'pay'].map((name) =>
  defineTool({
    name,
    description: 'Returns what it is given.',
    parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    run: ({ text }) => `${name}: ${text}`,
  }),
)

beforeAll(async () => {
  for (const name of names) started[name] = await fakes[name]()
  env = Object.assign({}, ...names.map((name) => started[name].env))
  app = await startTestApp({ tools: [...tools, mute], env })
  talk = talkTo(app)
})
afterAll(async () => {
  await app.stop()
  for (const name of names) await started[name].stop()
})

const mute = defineTool({
  name: 'mute',
  description: 'Fails without a word.',
  parameters: { type: 'object', properties: {} },
  run: () => {
    throw new Error('')
  },
})

const createAgent = (name: keyof typeof fakes, more: object = {}) =>
  talk.createAgent({
    model: started[name].handle,
    instructions: 'Be brief.',
    tools: ['echo', { name: 'pay', approvalOverride: true }],
    modelSettings: { reasoningEffort: 'LOW' },
    ...more,
  })

test.each(names)(
  '[PRV25] the whole tour with %s: a tool, an approval, a cancel, a failure, the next message',
  async (name) => {
    const fake = started[name]
    const agent = await createAgent(name)

    const first = await talk.start(agent, 'look it up and pay')
    const one = await fake.nextCall()
    one.think('I should look it up')
    one.say('One moment.')
    one.call('echo', { text: 'price' })
    one.finish()
    const two = await fake.nextCall()
    expect(two.exchange.bodyText).toContain('echo: price')
    two.think('now pay')
    two.call('echo', { text: 'again' })
    two.call('pay', { text: '5 EUR' })
    two.finish()
    const [pending] = await talk.pending(first)
    await talk.submit(first, [{ approve: { toolCallId: pending.id } }])
    const three = await fake.nextCall()
    expect(three.exchange.bodyText).toMatch(/echo: again.*pay: 5 EUR/s)
    three.say('Paid.')
    three.finish()
    expect(await talk.settled(first)).toMatchObject({ status: 'COMPLETED', stopReason: 'END_TURN', answer: 'Paid.' })
    expect((await talk.messages(first)).map(({ __typename }) => __typename)).toEqual([
      'UserMessage',
      'ReasoningMessage',
      'AssistantMessage',
      'ToolCallMessage',
      'ToolReturnMessage',
      'ReasoningMessage',
      'ToolCallMessage',
      'ApprovalRequestMessage',
      'ApprovalResponseMessage',
      'ToolReturnMessage',
      'AssistantMessage',
    ])

    const second = await talk.start(agent, 'tell me a story')
    const watch = talk.watch(second)
    const story = await fake.nextCall()
    story.think('a story')
    story.say('Once upon a')
    await watch.until(() => [...watch.texts.values()].includes('Once upon a'))
    await talk.cancel({ runId: second })
    await story.exchange.closed
    await watch.ended
    expect(await talk.settled(second)).toMatchObject({ status: 'CANCELLED', answer: 'Once upon a' })

    const third = await talk.start(agent, 'and now something that fails')
    const broken = await fake.nextCall()
    broken.say('I will not be')
    broken.breakWith('overload')
    expect(await talk.settled(third)).toMatchObject({
      status: 'FAILED',
      stopReason: 'LLM_API_ERROR',
      answer: null,
      error: { type: 'LLM_ERROR', message: 'The model provider is overloaded.' },
    })
    expect(await talk.messages(third)).toMatchObject([{ __typename: 'UserMessage', inContext: false }])

    const fourth = await talk.start(agent, 'are you there?')
    const last = await fake.nextCall()
    expect(last.exchange.bodyText).not.toContain('something that fails')
    expect(last.exchange.bodyText).toContain('Once upon a')
    last.say('I am.')
    last.finish()
    expect(await talk.settled(fourth)).toMatchObject({ status: 'COMPLETED', answer: 'I am.', usage: { steps: 1 } })
    expect(fake.refused).toEqual([])
  },
)

test.each(names)('[PRV26] broken arguments, a withheld answer and a refused key with %s', async (name) => {
  const fake = started[name]
  const agent = await createAgent(name)

  const first = await talk.start(agent, 'call it badly')
  const one = await fake.nextCall()
  // Gemini sends arguments as JSON, so they can be wrong but not malformed.
  one.call('echo', name === 'gemini' ? { wrong: 'half' } : '{"text": "hal')
  one.finish()
  const two = await fake.nextCall()
  two.say('Sorry.')
  two.finish({ reason: 'length' })
  expect(await talk.settled(first)).toMatchObject({ status: 'COMPLETED', stopReason: 'MAX_TOKENS_EXCEEDED' })

  const withheld = await talk.start(agent, 'something forbidden')
  const three = await fake.nextCall()
  three.say('Well,')
  three.finish({ reason: 'filter' })
  expect(await talk.settled(withheld)).toMatchObject({ status: 'FAILED', stopReason: 'INVALID_LLM_RESPONSE' })

  const refused = await talk.start(agent, 'with a bad key')
  ;(await fake.nextCall()).refuse('authentication')
  const run = await talk.settled(refused)
  expect(run).toMatchObject({ status: 'FAILED', error: { type: 'LLM_AUTHENTICATION' } })
  expect(JSON.stringify(run)).not.toContain(secretKey.slice(0, 12))
  expect(fake.refused).toEqual([])
})

test('[PRV26] a model that goes silent is disconnected', async () => {
  const impatient = await startTestApp({ env: { ...env, HOLDPOINT_MODEL_IDLE_MS: '300' } })
  const hasty = talkTo(impatient)
  await Promise.all(
    names.map(async (name) => {
      const run = await hasty.start(await hasty.createAgent({ model: started[name].handle }), 'say nothing')
      const call = await started[name].nextCall()
      call.say('Hm')
      await call.exchange.closed
      expect(await hasty.settled(run)).toMatchObject({ status: 'FAILED', error: { type: 'LLM_TIMEOUT' } })
    }),
  )
  await impatient.stop()
})

test('[PRV27] an agent switches to another provider in the middle of its conversation', async () => {
  const agent = await createAgent('openai')
  for (const name of [...names, ...names]) {
    const fake = started[name]
    await app.data(
      'mutation ($id: ID!, $model: String!) { updateAgent(input: { id: $id, model: $model }) { agent { id } } }',
      {
        id: agent,
        model: fake.handle,
      },
    )
    const run = await talk.start(agent, `hello ${name}`)
    const one = await fake.nextCall()
    one.think(`thoughts of ${name}`)
    one.call('echo', { text: name }, { callId: 'call_1' })
    one.finish()
    const two = await fake.nextCall()
    two.say(`said by ${name}`)
    two.finish()
    expect(await talk.settled(run)).toMatchObject({ status: 'COMPLETED', answer: `said by ${name}` })
    expect(fake.refused).toEqual([])
  }
})

test('[PRV23] models are those that each provider lists itself, with what they can do', async () => {
  const { models } = await app.data('{ models { handle provider contextWindow capabilities isConfigured } }')
  const openai = { provider: 'openai', isConfigured: true }
  expect(models).toContainEqual({
    ...openai,
    handle: 'openai/gpt-5-mini',
    contextWindow: 272_000,
    capabilities: ['IMAGES', 'DOCUMENTS', 'TOOLS', 'STRUCTURED_OUTPUT', 'REASONING'],
  })
  expect(models).toContainEqual(
    expect.objectContaining({ handle: 'openai-chat/local-model', contextWindow: 128_000, capabilities: ['TOOLS'] }),
  )
  expect(models).toContainEqual(expect.objectContaining({ handle: 'demo/scripted', contextWindow: 32_000 }))
  const { errors } = await app.request(
    'mutation { createAgent(input: { name: "a", model: "nobody/knows" }) { agent { id } } }',
  )
  expect(errors![0]!.message).toContain('anthropic/claude-opus-5-5')
})

/** The name of each call and what was returned under its id, in each wire format. */
const returnsByCall: Record<keyof typeof fakes, (body: any) => string[][]> = {
  openai: ({ input }) =>
    input
      .filter(({ type }: any) => type === 'function_call')
      .map(({ name, call_id }: any) => [
        name,
        input.find((item: any) => item.call_id === call_id && item.output).output,
      ]),
  'openai-chat': ({ messages }) =>
    messages
      .flatMap(({ tool_calls }: any) => tool_calls ?? [])
      .map((call: any) => [call.function.name, messages.find((one: any) => one.tool_call_id === call.id).content]),
  anthropic: ({ messages }) => {
    const blocks = messages.flatMap(({ content }: any) => content)
    return blocks
      .filter(({ type }: any) => type === 'tool_use')
      .map(({ name, id }: any) => [name, blocks.find((block: any) => block.tool_use_id === id).content])
  },
  gemini: ({ contents }) => {
    const parts = contents.flatMap((content: any) => content.parts)
    return parts
      .flatMap(({ functionCall }: any) => functionCall ?? [])
      .map(({ name, id }: any) => [
        name,
        outputOf(parts.find((part: any) => part.functionResponse?.id === id).functionResponse),
      ])
  },
}

function outputOf({ response }: any): string {
  return response.output ?? response.error
}

test.each(names)('[PRV31] two calls under one id keep their own returns with %s', async (name) => {
  const fake = started[name]
  const run = await talk.start(await createAgent(name), 'pay and look it up')
  const one = await fake.nextCall()
  one.call('pay', { text: 'A' }, { callId: 'same' })
  one.call('echo', { text: 'B' }, { callId: 'same' })
  one.finish()
  const [pending] = await talk.pending(run)
  await talk.submit(run, [{ approve: { toolCallId: pending.id } }])
  const two = await fake.nextCall()
  // The waiting call is stored after the other one, although the model wrote it first.
  expect(returnsByCall[name](two.body)).toEqual([
    ['pay', 'pay: A'],
    ['echo', 'echo: B'],
  ])
  two.finish()
  expect(await talk.settled(run)).toMatchObject({ status: 'COMPLETED' })
})

test.each(names)(
  '[PRV32] arguments that cannot be serialized as JSON again do not break the conversation with %s',
  async (name) => {
    const fake = started[name]
    const agent = await createAgent(name, { keepRequests: true })
    const run = await talk.start(agent, 'go deep')
    const one = await fake.nextCall()
    one.call('echo', '{"a":'.repeat(20_000) + '1' + '}'.repeat(20_000))
    one.finish()
    ;(await fake.nextCall()).finish()
    expect(await talk.settled(run)).toMatchObject({ status: 'COMPLETED' })
    const shown = await app.data(
      'query ($agent: ID!) { agent(id: $agent) { mainConversation { context { request } } } }',
      {
        agent,
      },
    )
    expect(JSON.stringify(shown)).toContain('unparsable')
  },
)

test.each(names)('[PRV33] a tool that fails without a message is reported to %s as failed', async (name) => {
  const fake = started[name]
  const run = await talk.start(await talk.createAgent({ model: fake.handle, tools: ['mute'] }), 'go')
  const one = await fake.nextCall()
  one.call('mute', {})
  one.finish()
  const two = await fake.nextCall()
  expect(returnsByCall[name](two.body)).toEqual([['mute', 'The tool failed without saying why.']])
  two.finish()
  expect(await talk.settled(run)).toMatchObject({ status: 'COMPLETED' })
})

test.each(names)('[PRV40] %s is shown the arguments that ran, and who changed them', async (name) => {
  const fake = started[name]
  const agent = await createAgent(name)
  const run = await talk.start(agent, 'pay')
  const first = await fake.nextCall()
  first.call('pay', { text: '500 EUR' })
  first.finish()
  const [pending] = await talk.pending(run)
  await talk.submit(run, [{ approve: { toolCallId: pending.id, arguments: { text: '5 EUR' } } }])
  const second = await fake.nextCall()
  expect(wireCalls(second.body)).toEqual([{ text: '5 EUR' }])
  const note =
    '[Note: The arguments of this call were changed by a person before it ran: it ran with {"text":"5 EUR"}. You had written {"text":"500 EUR"}.]'
  expect(wireReturns(second.body)).toEqual([`${note}\npay: 5 EUR`])
  second.finish()
  await talk.settled(run)
  // The next turn is sent the same.
  const next = await talk.start(agent, 'and?')
  const third = await fake.nextCall()
  expect(wireReturns(third.body)).toEqual([`${note}\npay: 5 EUR`])
  third.finish()
  await talk.settled(next)
})

test.each(names)('[PRV40] %s is shown the arguments that a tool rule set', async (name) => {
  const fake = started[name]
  const toolRules = [{ kind: 'RUN_FIRST', tool: 'echo', prefilledArguments: { text: 'fixed' } }]
  const run = await talk.start(await talk.createAgent({ model: fake.handle, tools: ['echo'], toolRules }), 'go')
  const first = await fake.nextCall()
  first.call('echo', {})
  first.finish()
  const second = await fake.nextCall()
  expect(wireCalls(second.body)).toEqual([{ text: 'fixed' }])
  expect(wireReturns(second.body)[0]).toMatch(
    /^\[Note: .* changed by a tool rule .*\{"text":"fixed"\}.*\]\necho: fixed$/,
  )
  second.finish()
  await talk.settled(run)
})

const responseSchema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}

test.each(names)(
  '[CNT80] %s answers by a schema of the request after a tool, an approval and a wrong answer',
  async (name) => {
    const fake = started[name]
    const run = await talk.start(await createAgent(name), 'pay, then say where', { responseSchema })
    const one = await fake.nextCall()
    one.think('pay first')
    one.call('pay', { text: '5 EUR' })
    one.finish()
    const [pending] = await talk.pending(run)
    await talk.submit(run, [{ approve: { toolCallId: pending.id } }])
    const two = await fake.nextCall()
    two.say('In Paris.')
    two.finish()
    const three = await fake.nextCall()
    expect(three.exchange.bodyText).toMatch(/pay: 5 EUR.*In Paris\..*Answer again/s)
    three.say('{"city":"Paris"}')
    three.finish()
    await talk.settled(run)
    const shown = await app.data('query ($id: ID!) { run(id: $id) { status stopReason output } }', { id: run })
    expect(shown.run).toEqual({ status: 'COMPLETED', stopReason: 'END_TURN', output: { city: 'Paris' } })
    expect(fake.refused).toEqual([])
  },
)

test.each(names)('[FBK80] a model of another provider takes the place of %s after an approval', async (name) => {
  const fake = started[name]
  const other = started[names[(names.indexOf(name) + 1) % names.length]!]
  const agent = await createAgent(name, { modelSettings: { fallbacks: [other.handle] } })
  const run = await talk.start(agent, 'pay')
  const one = await fake.nextCall()
  one.think('pay')
  one.call('pay', { text: '5 EUR' })
  one.finish()
  const [pending] = await talk.pending(run)
  await talk.submit(run, [{ approve: { toolCallId: pending.id, arguments: { text: '4 EUR' } } }])
  ;(await fake.nextCall()).refuse('overload')
  const two = await other.nextCall()
  expect(wireReturns(two.body)).toEqual([expect.stringMatching(/pay: 4 EUR$/)])
  two.think('done')
  two.call('echo', { text: 'more' })
  two.finish()
  // Each step begins with the agent's own model.
  const three = await fake.nextCall()
  three.say('Paid.')
  three.finish()
  expect(await talk.settled(run)).toMatchObject({ status: 'COMPLETED', answer: 'Paid.' })
  const { steps } = (
    await app.data('query ($id: ID!) { run(id: $id) { steps { model failedModels { model } } } }', { id: run })
  ).run
  expect(steps).toMatchObject([
    { model: fake.handle, failedModels: [] },
    { model: other.handle, failedModels: [{ model: fake.handle }] },
    { model: fake.handle, failedModels: [] },
  ])
  expect([...fake.refused, ...other.refused]).toEqual([])
})

/** The arguments of every call in a request, whatever its format. */
function wireCalls(body: any): unknown[] {
  const inputs = (body.input ?? []).flatMap((item: any) => (item.type === 'function_call' ? [item.arguments] : []))
  const messages = (body.messages ?? []).flatMap((message: any) => [
    ...(message.tool_calls ?? []).map((call: any) => call.function.arguments),
    ...(Array.isArray(message.content) ? message.content : []).flatMap((part: any) =>
      part.type === 'tool_use' ? [part.input] : [],
    ),
  ])
  const parts = (body.contents ?? []).flatMap((content: any) =>
    content.parts.flatMap(({ functionCall }: any) => (functionCall ? [functionCall.args] : [])),
  )
  return [...inputs, ...messages, ...parts].map((args) => (typeof args === 'string' ? JSON.parse(args) : args))
}

function wireReturns(body: any): unknown[] {
  const inputs = (body.input ?? []).flatMap((item: any) => (item.type === 'function_call_output' ? [item.output] : []))
  const messages = (body.messages ?? []).flatMap((message: any) =>
    message.role === 'tool'
      ? [message.content]
      : (Array.isArray(message.content) ? message.content : []).flatMap((part: any) =>
          part.type === 'tool_result' ? [part.content] : [],
        ),
  )
  const parts = (body.contents ?? []).flatMap((content: any) =>
    content.parts.flatMap(({ functionResponse }: any) => (functionResponse ? [outputOf(functionResponse)] : [])),
  )
  return [...inputs, ...messages, ...parts]
}
