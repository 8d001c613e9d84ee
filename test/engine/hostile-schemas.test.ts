import { afterAll, beforeAll, expect, test } from 'vitest'

import { countTokens } from '../../src/util/tokens.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { watchThread } from '../support/blocked.ts'
import { talkTo, type Talk } from '../support/talk.ts'

let app: TestApp
let talk: Talk
beforeAll(async () => {
  // Its tables are loaded once per process, which takes longer than any request may.
  countTokens('text')
  app = await startTestApp()
  talk = talkTo(app)
})
afterAll(() => app.stop())

/** Compiles at once, and takes exponential time to evaluate. */
const twice = (level: number) => ({ allOf: [{ $ref: `#/$defs/d${level}` }, { $ref: `#/$defs/d${level}` }] })
const slow = {
  type: 'object',
  $defs: Object.fromEntries(
    Array.from({ length: 50 }, (_, i) => [`d${i}`, i === 49 ? { minProperties: 0 } : twice(i + 1)]),
  ),
  ...twice(0),
}
const uncompilable = { type: 'object', properties: { a: { pattern: 'a{1000}'.repeat(1_000) } } }
const send = `mutation ($input: SendMessageInput!) { sendMessage(input: $input) { ... on SendMessageSuccess { run { id } } } }`

async function createAgent(tool?: object): Promise<string> {
  const implementation = { javascript: { source: 'export default () => "ran"' } }
  if (tool)
    await app.data('mutation ($input: UpsertToolInput!) { upsertTool(input: $input) { tool { id } } }', {
      input: { name: 'guarded', implementation, ...tool },
    })
  return talk.createAgent({ model: 'demo/scripted', tools: tool ? ['guarded'] : [] })
}

/** Sends a message, and returns its run when it has settled. */
async function sent(agentId: string, text: string, extra: object = {}) {
  const input = { to: { agentId }, messages: [{ text }], ...extra }
  const { sendMessage } = await app.data(send, { input })
  return talk.settled(
    sendMessage.run.id,
    'status stopReason pendingToolCalls { name needs } error { message } steps { toolCalls { status result { output } } }',
  )
}

test('[JSN8] a schema that takes too long to compile is refused, with the field that has it', async () => {
  const to = { agentId: await createAgent() }
  const messages = [{ text: 'hello' }]
  const good = { name: 'good', parameters: { type: 'object' } }
  const name = 'bad'
  const fields: [string, string, object][] = [
    [send, 'input.responseSchema', { to, messages, responseSchema: uncompilable }],
    [send, 'input.clientTools.1.parameters', { to, messages, clientTools: [good, { name, parameters: uncompilable }] }],
    [
      'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }',
      'input.modelSettings.responseSchema',
      { name, model: 'demo/scripted', modelSettings: { responseSchema: uncompilable } },
    ],
    ...['parameters', 'approvalCondition'].map((field): [string, string, object] => [
      'mutation ($input: UpsertToolInput!) { upsertTool(input: $input) { tool { id } } }',
      `input.${field}`,
      { name, implementation: { javascript: { source: 'export default () => 1' } }, [field]: uncompilable },
    ]),
  ]
  for (const [document, field, input] of fields) {
    const { errors } = await app.request(document, { input })
    expect(errors).toMatchObject([
      { message: expect.stringMatching(/to compile/), extensions: { code: 'BAD_USER_INPUT', field } },
    ])
  }
})

test('[JSN8] an answer that cannot be checked does not satisfy its schema', async () => {
  const watch = watchThread()
  const run = await sent(await createAgent(), 'say {"a":1}', { responseSchema: slow })
  expect(watch.stop()).toBeLessThan(100)
  expect(run).toMatchObject({ status: 'FAILED', stopReason: 'RESPONSE_SCHEMA_NOT_SATISFIED' })
})

test('[JSN8] arguments that cannot be checked give an error return', async () => {
  const ofTool = await sent(await createAgent({ parameters: slow }), 'call guarded {"a":2}')
  const clientTools = [{ name: 'own', parameters: slow }]
  const ofClient = await sent(await createAgent(), 'call own {"a":3}', { clientTools })
  for (const run of [ofTool, ofClient]) {
    expect(run).toMatchObject({ status: 'COMPLETED' })
    const [call] = run.steps[0].toolCalls
    expect(call).toMatchObject({ status: 'FAILED', result: { output: expect.stringContaining('500 ms') } })
  }
})

test('[JSN8] a condition that cannot be evaluated asks, and the approval runs the call', async () => {
  const agent = await createAgent({ parameters: { type: 'object' }, approvalCondition: slow })
  const run = await sent(agent, 'call guarded {"a":4}')
  expect(run).toMatchObject({ status: 'AWAITING_APPROVAL', pendingToolCalls: [{ needs: 'APPROVAL' }] })
})

test('[JSN11] defaults that are too large give an error return', async () => {
  const items = { type: 'object', properties: { a: { type: 'string', default: 'd'.repeat(60_000) } } }
  const parameters = { type: 'object', properties: { x: { type: 'array', items } } }
  const agent = await createAgent({ parameters, approvalCondition: null })
  const watch = watchThread()
  const run = await sent(agent, `call guarded ${JSON.stringify({ x: Array.from({ length: 4_000 }, () => ({})) })}`)
  expect(watch.stop()).toBeLessThan(100)
  expect(run.steps[0].toolCalls).toMatchObject([
    { status: 'FAILED', result: { output: expect.stringContaining('larger than 1 MB') } },
  ])
})
