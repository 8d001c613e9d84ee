import { afterAll, expect, test } from 'vitest'

import { startTestApp } from '../support/app.ts'
import { createGatedModel, gatedHandle } from '../support/gated-model.ts'
import { defineTool } from '../../src/tools/registry.ts'

const model = createGatedModel()
const echo = defineTool({
  name: 'echo',
  description: 'Returns what it is given.',
  parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  run: ({ text }) => `echo: ${text}`,
})

const app = await startTestApp({ providers: [model.provider], tools: [echo] })
afterAll(async () => {
  model.assertAllTaken()
  await app.stop()
})

async function createAgent(model = gatedHandle): Promise<string> {
  const { tools } = await app.data('{ tools(filter: { nameContains: "echo" }) { nodes { id } } }')
  const { createAgent } = await app.data(
    `mutation ($model: String!, $tool: ID!) {
      createAgent(input: { name: "a", model: $model, includeBaseTools: false, tools: [{ toolId: $tool }] }) { agent { id } }
    }`,
    { model, tool: tools.nodes[0].id },
  )
  return createAgent.agent.id
}

const send = `mutation ($agent: ID!, $text: String!, $waitMs: Int! = 0) {
  sendMessage(input: { to: { agentId: $agent }, messages: [{ text: $text }], waitMs: $waitMs }) {
    __typename ... on SendMessageSuccess { run { id status } } ... on Refusal { message }
  }
}`

test('[RUN1] a message goes through a tool to an answer, and the stream shows it in order', async () => {
  const agent = await createAgent()
  const { sendMessage } = await app.data(send, { agent, text: 'hello' })
  const events = app.webSocket()
  const stream = events.stream(
    `subscription ($run: ID!) { runEvents(runId: $run) { __typename
      ... on RunStatusChanged { status }
      ... on TextDelta { offset text }
      ... on ToolCallDelta { argumentsText }
      ... on ToolCallChanged { toolCallStatus }
      ... on MessageAdded { message { __typename } } } }`,
    { run: sendMessage.run.id },
  )
  const seen: string[] = []
  const collected = (async () => {
    for await (const { data } of stream) {
      const event = data!.runEvents
      seen.push(
        [
          event.__typename,
          event.status ?? event.text ?? event.argumentsText ?? event.toolCallStatus ?? event.message?.__typename,
        ]
          .filter(Boolean)
          .join(' '),
      )
    }
  })()

  const first = await model.nextCall()
  first.call('echo', { text: 'hi' })
  first.finish()
  const second = await model.nextCall()
  expect(second.request.messages.at(-1)).toEqual({
    role: 'tool',
    returns: [{ callId: 'call_0', name: 'echo', failed: false, output: 'echo: hi' }],
  })
  second.say('done')
  second.finish()
  await collected
  await events.dispose()

  expect(seen.filter((line) => !line.includes('Delta'))).toEqual([
    'RunStatusChanged QUEUED',
    'RunStatusChanged RUNNING',
    'MessageAdded UserMessage',
    'StepStarted',
    'MessageAdded ToolCallMessage',
    'ToolCallChanged RUNNING',
    'ToolCallChanged SUCCEEDED',
    'MessageAdded ToolReturnMessage',
    'StepFinished',
    'StepStarted',
    'MessageAdded AssistantMessage',
    'StepFinished',
    'RunStatusChanged COMPLETED',
  ])
})

test('[RUN2] a cancel in the middle of an answer keeps what was said', async () => {
  const agent = await createAgent()
  const { sendMessage } = await app.data(send, { agent, text: 'hello' })
  const call = await model.nextCall()
  call.say('half of ')
  const stream = await app.events(
    `subscription ($run: ID!) { runEvents(runId: $run) { __typename ... on TextDelta { text } } }`,
    { run: sendMessage.run.id },
  )
  for (;;) {
    const event = (await stream.next())!.data!.runEvents
    if (event.__typename === 'TextDelta') break
  }
  const { cancelRun } = await app.data(
    `mutation ($run: ID!) { cancelRun(input: { runId: $run }) { ... on CancelRunSuccess { run { status stopReason answer } } } }`,
    { run: sendMessage.run.id },
  )
  await call.aborted
  expect(cancelRun.run).toEqual({ status: 'CANCELLED', stopReason: 'CANCELLED', answer: 'half of ' })
  const { agent: after } = await app.data('query ($agent: ID!) { agent(id: $agent) { lastStopReason } }', { agent })
  expect(after.lastStopReason).toBe('CANCELLED')
})
