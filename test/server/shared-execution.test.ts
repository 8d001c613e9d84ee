import {
  execute,
  GraphQLInt,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLSchema,
  GraphQLString,
  parse,
  type ExecutionArgs,
} from 'graphql'
import { expect, it } from 'vitest'
import { WebSocket } from 'ws'

import { createLoaders } from '../../src/graphql/loaders.ts'
import { schema as realSchema } from '../../src/graphql/schema.ts'
import { preparePlainExecution } from '../../src/server/streams/plain-execution.ts'
import { createGraphQLClient } from '../support/graphql-client.ts'
import { startServer } from './fixture.ts'

/** A subscription whose subscribers all get the same event objects. It counts executions. */
function createBroadcast() {
  const waiting = new Set<(event: object) => void>()
  /** `failures` is how many more executions find the database unavailable. */
  const counted = { executions: 0, failures: 0 }
  const Event = new GraphQLObjectType({
    name: 'Event',
    fields: {
      value: { type: GraphQLInt },
      keyName: {
        type: GraphQLString,
        args: { prefix: { type: GraphQLString } },
        resolve: (_event, { prefix }, { viewer }) => {
          counted.executions += 1
          if (counted.failures-- > 0) throw Object.assign(new Error('statement timeout'), { code: '57014' })
          return `${prefix ?? ''}${viewer.keyName}`
        },
      },
    },
  })
  const schema = new GraphQLSchema({
    query: new GraphQLObjectType({ name: 'Query', fields: { nothing: { type: GraphQLInt } } }),
    subscription: new GraphQLObjectType({
      name: 'Subscription',
      fields: {
        events: {
          type: new GraphQLNonNull(Event),
          args: { after: { type: GraphQLString } },
          subscribe: () => ({
            next: () => new Promise((resolve) => waiting.add((value) => resolve({ done: false, value }))),
            return: async () => ({ done: true, value: undefined }),
            [Symbol.asyncIterator]() {
              return this
            },
          }),
          resolve: (event) => event,
        },
      },
    }),
  })
  return {
    schema,
    counted,
    async publish(event: object, to: number) {
      await expect.poll(() => waiting.size).toBe(to)
      const all = [...waiting]
      waiting.clear()
      for (const give of all) give(event)
    },
  }
}

it('[SRV24] subscribers with the same fields and rights share one execution of an event, and no others', async () => {
  const broadcast = createBroadcast()
  const { client, origin } = await startServer({ schema: broadcast.schema })
  const good = createGraphQLClient(`${origin}/graphql`, { authorization: 'Bearer good' })
  const document = `subscription ($after: String, $prefix: String = "the ") { events(after: $after) { value keyName(prefix: $prefix) } }`
  const sockets = [client.webSocket(), client.webSocket(), good.webSocket(), good.webSocket(), good.webSocket()]
  const streams = [
    sockets[0]!.stream(document, { after: 'a' }),
    sockets[1]!.stream(document, { after: 'b' }),
    sockets[2]!.stream(document, { after: 'a' }),
    sockets[3]!.stream(document, { after: 'a', prefix: 'very ' }),
    sockets[4]!.stream(document, { after: 'a', prefix: null }),
  ]
  const results = Promise.all(streams.map((stream) => stream.next()))
  await broadcast.publish({ value: 1 }, streams.length)
  const names = (await results).map((result) => result!.data.events.keyName)
  expect(names).toEqual(['the open', 'the open', 'the good', 'very good', 'good'])
  expect(broadcast.counted.executions).toBe(4)

  // Another object with equal contents is another event.
  const again = Promise.all(streams.map((stream) => stream.next()))
  await broadcast.publish({ value: 1 }, streams.length)
  await again
  expect(broadcast.counted.executions).toBe(8)
  for (const socket of sockets) await socket.dispose()
})

it.each(['WebSocket', 'SSE'])(
  '[STR13] %s: subscribers share the executions of an event that is retried',
  async (transport) => {
    const broadcast = createBroadcast()
    const { client } = await startServer({ schema: broadcast.schema })
    const query = 'subscription { events { value keyName } }'
    const socket = client.webSocket()
    const open = async () => (transport === 'SSE' ? client.events(query) : socket.stream(query))
    const streams = [await open(), await open(), await open()]
    broadcast.counted.failures = 2
    for (const value of [1, 2]) {
      const results = Promise.all(streams.map((stream) => stream.next()))
      await broadcast.publish({ value }, streams.length)
      const result = { data: { events: { value, keyName: 'open' } } }
      expect(await results).toEqual([result, result, result])
    }
    // The first event was executed three times, the second once.
    expect(broadcast.counted.executions).toBe(4)
    for (const stream of streams) await stream.close()
    await socket.dispose()
  },
)

it.each(['WebSocket', 'SSE'])(
  '[STR13] %s: a database that stays unavailable ends the stream with an error',
  async (transport) => {
    const { client, ground } = await startServer({ limits: { unavailableMs: 100 } })
    const query = 'subscription { ticks(each: "database") }'
    const socket = client.webSocket()
    const stream = transport === 'SSE' ? await client.events(query) : socket.stream(query)
    const first = stream.next()
    await expect.poll(() => ground.sources.size).toBe(1)
    // The second event keeps failing, and the third must not be delivered instead.
    for (const value of [1, 2, 3]) [...ground.sources][0]!.push(value)
    expect(await first).toEqual({ data: { ticks: 1 } })
    expect(await stream.next()).toEqual({
      errors: [expect.objectContaining({ extensions: { code: 'UNAVAILABLE' } })],
    })
    expect(await stream.next()).toBeUndefined()
    expect(ground.sources.size).toBe(0)
    await socket.dispose()
  },
)

it('[SRV25] events that are executed without graphql-js have the same results', () => {
  const id = '01a1e2ee-743d-75d7-91fa-9a6eb33f9e7c'
  const base = { cursor: 'c', runId: id, at: new Date(), stepIndex: 0, offset: 3 }
  const events = [
    { ...base, type: 'text', kind: 'ASSISTANT', messageId: id, text: 'hi' },
    { ...base, type: 'call', toolCallId: id, name: 'tool', argumentsText: '{' },
    { ...base, type: 'entry', seq: 1, entry: { type: 'stepStarted', index: 0 } },
  ]
  const all = `__typename c: cursor at ... on RunEvent { runId } ...F ... on RunEntry { seq } ... on StepStarted { index }
    ... on ToolCallDelta { toolCallId name offset argumentsText }`
  const fragment =
    'fragment F on RunEvent { at ... on TextDelta { text messageId stepId ...G } } fragment G on TextDelta { kind offset }'
  const documents = [
    `subscription { runEvents(runId: "x") { ${all} } } ${fragment}`,
    `subscription { r: conversationEvents(conversationId: "x", after: "y") { ${all} } } ${fragment}`,
    'subscription ($no: Boolean = false) { runEvents(runId: "x") { cursor at @include(if: $no) } }',
    'subscription One { runEvents(runId: "x") { cursor } } subscription Two { runEvents(runId: "x") { at } }',
  ]
  // Deltas load nothing, so no database is needed.
  const contextValue = { loaders: createLoaders(undefined as never, { tenantId: id }) }
  let plain = 0
  for (const text of documents) {
    for (const event of events) {
      for (const operationName of text.includes('One') ? ['One', 'Two'] : [undefined]) {
        const args = { schema: realSchema, document: parse(text), operationName, contextValue, rootValue: event }
        const result = preparePlainExecution(args)(event)
        if (!result) continue
        plain += 1
        expect(JSON.stringify(result)).toBe(JSON.stringify(execute(args as ExecutionArgs)))
      }
    }
  }
  expect(plain).toBe(8)
})

it('[SRV23] a socket that reads nothing for too long is closed with 1013', async () => {
  const { origin, ground } = await startServer({ limits: { stalledSocketMs: 400 } })
  const socket = new WebSocket(`${origin.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
  const closed = new Promise<number>((resolve) => socket.once('close', resolve))
  await new Promise((resolve) => socket.once('open', resolve))
  socket.send('{"type":"connection_init"}')
  await new Promise((resolve) => socket.once('message', resolve))
  // A long name makes long messages.
  const query = `subscription { ${'a'.repeat(100_000)}: ticks }`
  socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query } }))
  await expect.poll(() => ground.sources.size).toBe(1)
  socket.pause()
  for (let tick = 0; tick < 500; tick += 1) [...ground.sources][0]!.push(tick)
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  // A client that soon reads again gets the close code. Any other is cut off.
  socket.resume()
  expect(await closed).toBe(1013)
  await expect.poll(() => ground.sources.size).toBe(0)
})
