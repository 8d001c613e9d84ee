import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'

import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket } from 'ws'

import type { GraphQLClient } from '../support/graphql-client.ts'
import { startOwnServer, type OwnServer } from '../support/own-server.ts'
import { isLong, longer } from '../support/long.ts'

const sockets = longer(50, 1_000)
const runsAtATime = sockets / 10
const forMs = longer(1_000, 120_000)

let server: OwnServer
let client: GraphQLClient
let refusals = 0

beforeAll(async () => {
  server = await startOwnServer({
    HOLDPOINT_WORKERS: String(runsAtATime),
    // Garbage is collected before it piles up, so that growth is what is still in use.
    NODE_OPTIONS: '--max-old-space-size=160',
  })
  client = server.client
})
afterAll(() => server.stop())

/** A conversation with one turn after another, and what each of its subscribers has seen. */
interface Talk {
  readonly conversationId: string
  readonly lastCursor: string
  turns: number
}

interface Subscriber {
  readonly talk: Talk
  readonly socket: WebSocket
  completed: number
  closed: boolean
}

test(
  '[QUO84] many sockets with many runs at a time all see every turn, and memory does not grow',
  { timeout: 120_000 + 4 * forMs },
  async () => {
    const talks = await Promise.all(Array.from({ length: runsAtATime }, createTalk))
    const subscribers: Subscriber[] = []
    for (let count = 0; count < sockets; count += 1) subscribers.push(await subscribe(talks[count % talks.length]!))
    const memory = [memoryMb()]
    const until = performance.now() + forMs
    const talking = Promise.all(talks.map((talk) => keepTalking(talk, until)))
    while (performance.now() < until) {
      await sleep(Math.min(1_000, forMs))
      memory.push(memoryMb())
    }
    await talking
    await expect.poll(() => subscribers.filter(({ talk, completed }) => completed !== talk.turns)).toEqual([])
    expect(subscribers.filter(({ closed }) => closed)).toEqual([])
    await server.assertSound()
    for (const { socket } of subscribers) socket.terminate()
    if (!isLong) return
    // The maximum of each quarter, so that the time between two garbage collections does not count.
    const quarter = (which: number) =>
      Math.max(...memory.slice((which * memory.length) / 4, ((which + 1) * memory.length) / 4))
    const turns = talks.reduce((sum, talk) => sum + talk.turns, 0)
    const quarters = [0, 1, 2, 3].map(quarter)
    console.log(
      JSON.stringify({ sockets, runsAtATime, seconds: forMs / 1000, turns, refusals, startMb: memory[0], quarters }),
    )
    expect(quarters[3]! / quarters[1]!).toBeLessThan(1.15)
  },
)

async function createTalk(): Promise<Talk> {
  const { createAgent } = await client.data(
    'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }',
    { input: { name: 'a', model: 'demo/scripted', includeBaseTools: false } },
  )
  const { createConversation } = await client.data(
    `mutation ($input: CreateConversationInput!) { createConversation(input: $input) {
      conversation { id lastCursor } } }`,
    { input: { agentId: createAgent.agent.id } },
  )
  const { id: conversationId, lastCursor } = createConversation.conversation
  return { conversationId, lastCursor, turns: 0 }
}

/** A separate socket with one subscription, without a client library: a thousand of them share this process. */
async function subscribe(talk: Talk): Promise<Subscriber> {
  const socket = new WebSocket(client.url.replace('http', 'ws'), 'graphql-transport-ws')
  const subscriber: Subscriber = { talk, socket, completed: 0, closed: false }
  await once(socket, 'open')
  socket.send('{"type":"connection_init"}')
  await once(socket, 'message')
  socket.on('close', () => (subscriber.closed = true))
  socket.on('message', (data) => {
    const text = String(data)
    if (text === '{"type":"ping"}') socket.send('{"type":"pong"}')
    else if (text.includes('"status":"COMPLETED"')) subscriber.completed += 1
  })
  const query = `subscription ($id: ID!, $after: EventCursor!) { conversationEvents(conversationId: $id, after: $after) {
    __typename cursor ... on TextDelta { messageId offset text } ... on RunStatusChanged { status } } }`
  const variables = { id: talk.conversationId, after: talk.lastCursor }
  socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query, variables } }))
  return subscriber
}

async function keepTalking(talk: Talk, until: number): Promise<void> {
  const text = `slow 200\nsay ${'word '.repeat(10).trim()}`
  while (performance.now() < until) {
    const input = { to: { conversationId: talk.conversationId }, messages: [{ text }], waitMs: 60_000 }
    const { data, errors } = await client.request(
      `mutation ($input: SendMessageInput!) { sendMessage(input: $input) {
        ... on SendMessageSuccess { run { status } } } }`,
      { input: { ...input, idempotencyKey: `${talk.conversationId} ${talk.turns}` } },
    )
    if (errors) {
      // A server that cannot keep up says so. It has stored nothing then.
      expect(errors).toEqual([expect.objectContaining({ extensions: { code: 'UNAVAILABLE' } })])
      refusals += 1
      await sleep(1_000)
      continue
    }
    expect(data.sendMessage.run.status).toBe('COMPLETED')
    talk.turns += 1
  }
}

/** Of the server's process. */
function memoryMb(): number {
  return Math.round(
    Number(execFileSync('ps', ['-o', 'rss=', '-p', String(server.child.pid)], { encoding: 'utf8' })) / 1024,
  )
}
