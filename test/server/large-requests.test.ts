import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { startTestApp, type TestApp } from '../support/app.ts'
import { watchThread } from '../support/blocked.ts'

/** A thread of its own, because making and sending a large body takes long too. */
const client = `
  const { parentPort, workerData: url } = require('node:worker_threads')
  const times = (count, value) => Array.from({ length: count }, (_, index) => value(index))
  const keys = (count) => Object.fromEntries(times(count, (index) => ['k' + index, index]))
  const nested = (depth) => '['.repeat(depth) + ']'.repeat(depth)
  let body
  parentPort.on('message', async (source) => {
    if (source !== 'send') {
      const given = new Function('times', 'keys', 'nested', 'return ' + source)(times, keys, nested)
      body = typeof given === 'string' ? given : JSON.stringify(given)
      return parentPort.postMessage(body.length)
    }
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(url, { method: 'POST', headers, body })
    parentPort.postMessage(await response.text())
  })`

let app: TestApp
let thread: Worker
let to: string
beforeAll(async () => {
  app = await startTestApp()
  const { createAgent } = await app.data(
    'mutation { createAgent(input: { name: "A", model: "demo/scripted" }) { agent { id } } }',
  )
  to = JSON.stringify({ agentId: createAgent.agent.id })
  thread = new Worker(client, { eval: true, workerData: app.url })
})
afterAll(async () => {
  await thread.terminate()
  await app.stop()
})

async function told(message: string): Promise<unknown> {
  thread.postMessage(message)
  const [answer] = await once(thread, 'message')
  return answer
}

const send = 'mutation ($i: SendMessageInput!) { sendMessage(input: $i) { __typename } }'
const sending = (fields: string) =>
  `{ query: '${send}', variables: { i: { to: TO, messages: [{ text: 'x' }], ${fields} } } }`
const nodes = 'query ($i: [ID!]!) { nodes(ids: $i) { id } }'
const runs = (filter: string) =>
  `{ query: 'query ($f: RunFilter) { runs(filter: $f) { nodes { id } } }', variables: { f: { ${filter} } } }`
const withJson = (text: string) => `'{"query":"query ($m: JSON) { __typename }","variables":{"m":' + ${text} + '}}'`
const document = (text: string) => `{ query: ${text} }`

test.each([
  ['ids', `{ query: '${nodes}', variables: { i: times(140_000, (i) => 'agent_' + i) } }`],
  [
    'ids, just as many as a list may have',
    `{ query: '${nodes}', variables: { i: times(5_000, (i) => 'agent_' + i) } }`,
  ],
  ['keys in JSON', sending('metadata: keys(41_000)')],
  ['keys in JSON, just as many as it may have', sending('metadata: keys(39_000)')],
  ['a million keys', sending('metadata: keys(500_000)')],
  ['objects in JSON', sending(`metadata: { a: times(45_000, (i) => ({ a: i, b: 'x' })) }`)],
  ['messages', sending(`messages: times(70_000, () => ({ text: 'x' }))`)],
  ['messages, just as many as a list may have', sending(`messages: times(5_000, () => ({ text: 'x' }))`)],
  ['unknown fields', `{ query: '${send}', variables: { i: keys(41_000) } }`],
  ['unknown variables', `{ query: 'query ($a: String) { node(id: "x", a: $a) { id } }', variables: keys(41_000) }`],
  ['wrong messages', sending(`messages: times(5_000, () => ({ txt: 'x' }))`)],
  ['a long text', sending(`messages: [{ text: 'é\\n'.repeat(2_000_000) }]`)],
  ['lists in each other', withJson('nested(4_900_000)')],
  ['lists of lists in each other', withJson(`'[' + times(10_000, () => nested(400)) + ']'`)],
  ['objects in each other', withJson(`'{"a":'.repeat(1_400_000) + '1' + '}'.repeat(1_400_000)`)],
  ['many long texts', runs(`models: times(5_000, (i) => i + 'x'.repeat(1_800))`)],
  ['many long texts, just as many as a query may have', runs(`models: times(140, (i) => i + 'x'.repeat(1_800))`)],
  ['a long name', runs(`statuses: ['x'.repeat(9_000_000)]`)],
  ['a long time', runs(`createdAfter: '2'.repeat(9_000_000)`)],
  ['a document with a long comment', document(`'#' + 'x'.repeat(9_000_000) + '\\n{ __typename }'`)],
  ['a document with a long name', document(`'{' + 'a'.repeat(9_000_000) + '}'`)],
  ['a document with a name, just as long as it may be', document(`'{' + 'a'.repeat(499_998) + '}'`)],
  ['a document with a long text', document(`'{ node(id: """' + '\\n x'.repeat(2_000_000) + '""") { id } }'`)],
  ['a large schema', sending(`responseSchema: { type: 'object', description: 'x'.repeat(9_000_000) }`)],
  [
    'large client tools',
    sending(
      `clientTools: times(128, (i) => ({ name: 't' + i, parameters: { type: 'object', title: i + 'x'.repeat(60_000) } }))`,
    ),
  ],
])('[SRV92] a request with %s holds up others for less than 100 ms', { timeout: 60_000 }, async (_what, body) => {
  // The processor time of a busy machine is inflated, and the first request is compiled by Node. The least is what counts.
  const blocked: number[] = []
  while (blocked.length < 12 && Math.min(...blocked) >= 100) {
    await told(body.replace('TO', to))
    const watch = watchThread()
    const answer = await told('send')
    blocked.push(watch.stop())
    expect(answer).toMatch(/^\{"(data|errors)"/)
  }
  expect(Math.min(...blocked)).toBeLessThan(100)
})
