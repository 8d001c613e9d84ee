import { once } from 'node:events'

import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket } from 'ws'

import { startTestApp, type TestApp } from '../../support/app.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp()
})
afterAll(() => app.stop())

const query = 'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }'
const body = (metadata: string, more = ''): string =>
  `{"query":${JSON.stringify(query)},"variables":{"input":{"name":"a","model":"demo/scripted","metadata":${metadata}}}${more}}`
const nested = (open: string, close: string): string => open.repeat(100_000) + '1' + close.repeat(100_000)
const keys = (count: number, before = ''): string =>
  `{${Array.from({ length: count }, (_, key) => `"${before}${key}":0`).join()}}`

const tooDeep = { code: 'BAD_USER_INPUT', message: 'more than 100 levels deep' }
const tooLarge = { code: 'BAD_REQUEST', message: 'HOLDPOINT_MAX_BODY', closed: 1009 }
const tooMany = { code: 'BAD_REQUEST', message: 'more than 40000 keys in large JSON objects', closed: 1009 }
const hostile: readonly Hostile[] = [
  { what: '100,000 lists in each other', text: body(nested('[', ']')), ...tooDeep },
  { what: '100,000 objects in each other', text: body(nested('{"a":', '}')), ...tooDeep },
  {
    what: '100,000 lists that are not closed',
    text: body('['.repeat(100_000)),
    ...{ code: 'BAD_REQUEST', message: 'invalid JSON', closed: 4400 },
  },
  {
    what: 'a string of nearly 10 MB',
    text: body(`{"a":"${'x'.repeat(10_000_000)}"}`),
    ...{ code: 'BAD_USER_INPUT', message: '65536' },
  },
  { what: 'a string of more than 10 MB', text: body(`{"a":"${'x'.repeat(10 * 1024 * 1024)}"}`), ...tooLarge },
  { what: 'nearly a million keys that are numbers', text: body(keys(900_000)), ...tooMany },
  // V8 takes ten times longer for these than for numbers.
  { what: '700,000 keys', text: body(keys(700_000, 'k')), ...tooMany },
  {
    what: '140,000 values',
    text: body(JSON.stringify(Array.from({ length: 140_000 }, () => 1))),
    ...{ code: 'BAD_USER_INPUT', message: 'more than 120000 values' },
  },
  {
    what: '160,000 values',
    text: body(JSON.stringify(Array.from({ length: 160_000 }, () => 1))),
    ...tooMany,
    message: 'more than 150000 JSON values',
  },
]

interface Hostile {
  readonly what: string
  readonly text: string
  readonly code: string
  readonly message: string
  /** A WebSocket is closed with this code, because it is unknown which operation it was. */
  readonly closed?: number
}

async function overHttp(text: string): Promise<any> {
  const response = await fetch(app.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: text })
  return response.json()
}

async function overWebSocket(text: string): Promise<any> {
  const socket = new WebSocket(app.url.replace('http', 'ws'), 'graphql-transport-ws')
  const { promise, resolve } = Promise.withResolvers<any>()
  socket.on('open', () => socket.send('{"type":"connection_init"}'))
  socket.on('message', (data) => {
    const message = JSON.parse(String(data))
    if (message.type === 'connection_ack') socket.send(`{"id":"1","type":"subscribe","payload":${text}}`)
    if (message.type === 'next') resolve(message.payload)
    if (message.type === 'error') resolve({ errors: message.payload })
  })
  socket.on('error', () => {})
  socket.on('close', (code, reason) => resolve({ closed: code, reason: String(reason) }))
  const answer = await promise
  socket.terminate()
  return answer
}

test.each(hostile)('[SRV39] $what: refused over HTTP and WebSocket, and the server goes on', async (one) => {
  const error = { message: expect.stringContaining(one.message), extensions: { code: one.code } }
  expect(await overHttp(one.text)).toMatchObject({ errors: [error] })
  expect(await overWebSocket(one.text)).toMatchObject(one.closed ? { closed: one.closed } : { errors: [error] })
  expect(await app.data('{ __typename }')).toEqual({ __typename: 'Query' })
})

test('[SRV39] values that no operation uses are not inspected', async () => {
  const text = body('{}', `,"extensions":{"a":${nested('[', ']')}}`)
  expect((await overHttp(text)).errors).toBeUndefined()
  expect((await overWebSocket(text)).errors).toBeUndefined()
})

test('[SRV82] commas in texts are not counted', async () => {
  // Refused for its length, and not for its commas.
  const { errors } = await overHttp(body(JSON.stringify({ a: '\\",'.repeat(1_000_000) })))
  expect(errors).toEqual([expect.objectContaining({ message: expect.stringContaining('65536') })])
})

test('[SRV82] a socket that has shown no key yet is closed by a large message, which is not parsed', async () => {
  const socket = new WebSocket(app.url.replace('http', 'ws'), 'graphql-transport-ws')
  socket.on('open', () => socket.send(`{"type":"connection_init","payload":{"a":"${'x'.repeat(70_000)}"}}`))
  const [code, reason] = await once(socket, 'close')
  expect([code, String(reason)]).toEqual([1009, expect.stringContaining('before connection_ack')])
})
