import { readFileSync } from 'node:fs'

import { buildSchema } from 'graphql'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { createDriver } from './drive.ts'
import { createOperations } from './operations.ts'
import { createRandom } from './random.ts'
import { factor, seed, startFuzzedServer, type FuzzedServer } from './server.ts'
import type { Known } from './values.ts'

const operations = 300 * factor
const atOnce = 6
const schema = buildSchema(readFileSync(new URL('../../schema.graphql', import.meta.url), 'utf8'))
let server: FuzzedServer

beforeAll(async () => {
  server = await startFuzzedServer()
})
afterAll(() => server.stop())

test('[FUZ1] random operations by every transport get data or a coded error, and the server goes on', async () => {
  const known: Known = { ids: [], cursors: [], names: [] }
  const counts = new Map<string, number>()
  const faults: string[] = []
  // A fuzzer that is always refused proves little: it goes on until enough of its operations have succeeded.
  const hasProved = () =>
    (counts.get('query data') ?? 0) > operations / 20 && (counts.get('mutation data') ?? 0) > operations / 100
  await createSomething()
  // Each client has its own random choices, so that they don't depend on which one is answered first.
  const clients = Array.from({ length: atOnce }, async (_, index) => {
    const random = createRandom(seed + index)
    const next = createOperations(schema, random, known)
    const driver = createDriver(server.client, random, known)
    for (let sent = 0; sent < (hasProved() ? 1 : 10) * (operations / atOnce); sent += 1) {
      const operation = next()
      const outcome = await driver.send(operation).catch((error: unknown) => {
        faults.push(`${String(error)}\n  ${operation.query}\n  ${JSON.stringify(operation.variables)}`)
        return undefined
      })
      const what = `${operation.kind} ${outcome ? (outcome.codes[0] ?? 'data') : 'fault'}`
      counts.set(what, (counts.get(what) ?? 0) + 1)
    }
    await driver.close()
  })
  await Promise.all(clients)
  if (factor > 1) console.log(JSON.stringify({ seed, ...Object.fromEntries(counts) }))
  expect(faults.slice(0, 20), `seed ${seed}, ${faults.length} faults`).toEqual([])
  await server.assertSound()
  expect(hasProved(), JSON.stringify(Object.fromEntries(counts))).toBe(true)
}, 3_600_000)

/** Something to find: an agent with a conversation and a run. */
async function createSomething(): Promise<void> {
  const { createAgent } = await server.client.data(
    'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }',
    { input: { name: 'first', model: 'demo/scripted' } },
  )
  const input = { to: { agentId: createAgent.agent.id }, messages: [{ text: 'hello' }] }
  await server.client.data('mutation ($input: SendMessageInput!) { sendMessage(input: $input) { __typename } }', {
    input,
  })
}
