import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'

import { compose, composeRenamed } from '../../examples/federation/compose.ts'
import { startGateway, type Gateway } from '../../examples/federation/gateway.ts'
import { startTickets, ticketsSdl, type Tickets } from '../../examples/federation/tickets.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { createGatedModel, gatedHandle } from '../support/gated-model.ts'
import { createGraphQLClient } from '../support/graphql-client.ts'

const model = createGatedModel()
const key = 'Bearer hp_gateway'
let app: TestApp
let tickets: Tickets
let agent: { id: string; mainConversation: { id: string } }
let subgraphs: { name: string; url: string; sdl: string }[]
const gateways: Gateway[] = []

beforeAll(async () => {
  app = await startTestApp({
    providers: [model.provider],
    env: { HOLDPOINT_SUBGRAPH: '1', HOLDPOINT_API_KEY: 'hp_gateway' },
  })
  const direct = createGraphQLClient(app.url, { authorization: key })
  const made = await direct.data(
    `mutation { createAgent(input: { name: "Ada", model: "${gatedHandle}" }) { agent { id mainConversation { id } } } }`,
  )
  agent = made.createAgent.agent
  tickets = await startTickets(agent.id, 0)
  const sdl = await (await fetch(`${new URL(app.url).origin}/schema.graphql?subgraph=1`)).text()
  subgraphs = [
    { name: 'holdpoint', url: app.url, sdl },
    { name: 'tickets', url: tickets.url, sdl: ticketsSdl },
  ]
})
afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.close()
})
afterAll(async () => {
  tickets.close()
  await app.stop()
})

async function openGateway(supergraph: string, subscribesBy: 'events' | 'WebSocket' = 'events') {
  const gateway = await startGateway({ supergraph, subscribesBy, port: 0 })
  gateways.push(gateway)
  return { url: gateway.url, client: createGraphQLClient(gateway.url, { authorization: key }) }
}

const send = `mutation ($input: SendMessageInput!) {
  sendMessage(input: $input) { __typename ... on SendMessageSuccess { run { id tickets { title } } } }
}`
const message = () => ({
  input: { to: { agentId: agent.id }, messages: [{ content: [{ text: 'count' }] }] },
})

describe.each(['events', 'WebSocket'] as const)('behind Hive Gateway, subscriptions by %s', (subscribesBy) => {
  it('[FED7] a query across both subgraphs, a mutation and runEvents work, with the key of the caller', async () => {
    const { client, url } = await openGateway(compose(subgraphs), subscribesBy)
    const { agents, tickets: all } = await client.data(
      '{ agents { nodes { id name owner } } tickets { title agent { name mainConversation { id } } } }',
    )
    expect(agents.nodes).toEqual([{ id: agent.id, name: 'Ada', owner: 'Grace' }])
    expect(all).toEqual([
      { title: 'Where is my parcel?', agent: { name: 'Ada', mainConversation: agent.mainConversation } },
    ])

    const { sendMessage } = await client.data(send, message())
    const { run } = sendMessage
    expect(run.tickets).toEqual([{ title: `made by ${run.id}` }])

    const stream = await client.events(
      `subscription ($run: ID!) { runEvents(runId: $run) { __typename ... on TextDelta { text }
        ... on MessageAdded { message { __typename run { id tickets { title } } } }
        ... on RunStatusChanged { status } } }`,
      { run: run.id },
    )
    const call = await model.nextCall()
    call.say('one ')
    const events = []
    let text = ''
    for await (const { data, errors } of stream) {
      expect(errors).toBeUndefined()
      events.push(data.runEvents)
      text += data.runEvents.text ?? ''
      // Each word is seen before the next one is written.
      if (data.runEvents.text === 'one ') call.say('two')
      if (data.runEvents.text === 'two') call.finish()
    }
    expect(text).toBe('one two')
    expect(events.at(-1)).toEqual({ __typename: 'RunStatusChanged', status: 'COMPLETED' })
    expect(events.filter((event) => event.message).map((event) => event.message)).toEqual([
      { __typename: 'UserMessage', run },
      { __typename: 'AssistantMessage', run },
    ])
    expect(new Set(tickets.keys)).toEqual(new Set([key]))

    const stranger = createGraphQLClient(url, { authorization: 'Bearer hp_wrong' })
    const { errors } = await stranger.request('{ agents { nodes { id } } }')
    expect(errors![0]!.extensions.code).toBe('UNAUTHENTICATED')
    expect((await client.request('{ node(id: "x") { id } }')).errors![0]!.message).toContain('node')
  })
})

it('[FED8] the gateway renames types whose names clash, in queries, mutations and streams', async () => {
  const supergraph = composeRenamed(
    [subgraphs[0]!, { ...subgraphs[1]!, sdl: ticketsSdl.replaceAll(/\bRun\b/g, 'Errand') }],
    {
      Run: 'HoldpointRun',
      Message: 'HoldpointMessage',
    },
  )
  const { client } = await openGateway(supergraph)
  const { sendMessage } = await client.data(
    `mutation ($input: SendMessageInput!) {
      sendMessage(input: $input) { ... on SendMessageSuccess { run { __typename id } } } }`,
    message(),
  )
  expect(sendMessage.run.__typename).toBe('HoldpointRun')
  const call = await model.nextCall()
  call.say('one')
  call.finish()
  const stream = await client.events(
    `subscription ($run: ID!) { runEvents(runId: $run) { ... on MessageAdded { message { ...M run { __typename id } } } } }
    fragment M on HoldpointMessage { position }`,
    { run: sendMessage.run.id },
  )
  const runs = []
  for await (const { data } of stream) if (data.runEvents.message) runs.push(data.runEvents.message.run)
  expect(runs).toEqual([sendMessage.run, sendMessage.run])
  const { agents } = await client.data('{ agents { nodes { owner runs(first: 1) { nodes { __typename } } } } }')
  expect(agents.nodes).toEqual([{ owner: 'Grace', runs: { nodes: [{ __typename: 'HoldpointRun' }] } }])
})
