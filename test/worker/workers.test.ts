import { hostname } from 'node:os'

import { afterAll, afterEach, expect, test } from 'vitest'

import { defineTool } from '../../src/tools/registry.ts'
import { startTestApp, type TestApp, type TestAppOptions } from '../support/app.ts'
import { captureLog } from '../support/captured-log.ts'
import { createTestDatabase } from '../support/database.ts'
import { hookDatabase } from '../support/gated-database.ts'
import { createGatedModel } from '../support/gated-model.ts'
import { createGraphQLClient } from '../support/graphql-client.ts'
import { talkTo } from '../support/talk.ts'

const model = createGatedModel()
const apiOnly = { HOLDPOINT_WORKERS: '0' }
const started: TestApp[] = []

/** Several processes on one database, of which only some drive runs, or have the model or the tool. */
const database = await createTestDatabase()
afterEach(async () => {
  for (const app of started.splice(0).toReversed()) await app.stop()
  model.assertAllTaken()
})
afterAll(() => database.close())

async function start(options: TestAppOptions = {}): Promise<TestApp> {
  const app = await startTestApp({ database, providers: [model.provider], ...options })
  started.push(app)
  return app
}

const pay = defineTool({ name: 'pay', description: 'Pays.', parameters: { type: 'object' }, run: () => 'paid' })
const workers = '{ workers { id hostname version capacity activeRunCount startedAt lastSeenAt } }'
const readiness = async (app: TestApp) => {
  const response = await fetch(new URL('/readyz', app.url))
  return { code: response.status, ...((await response.json()) as { reason?: string }) }
}

test('[OPS1] workers shows every process that drives runs, with its runs, to keys with MANAGE', async () => {
  const key = { HOLDPOINT_API_KEY: 'hp_all' }
  const api = await start({ env: { ...apiOnly, ...key } })
  const client = createGraphQLClient(api.url, { authorization: 'Bearer hp_all' })
  const talk = talkTo(client)
  expect((await client.data(workers)).workers).toEqual([])
  await start({ env: { ...key, HOLDPOINT_WORKERS: '3' } })
  const run = await talk.start(await talk.createAgent(), 'hello')
  const call = await model.nextCall()
  const shown = (await client.data(workers)).workers
  expect(shown).toEqual([
    {
      id: expect.stringMatching(/^worker_[0-9a-f]{32}$/),
      hostname: hostname(),
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      capacity: 3,
      activeRunCount: 1,
      startedAt: expect.any(String),
      lastSeenAt: expect.any(String),
    },
  ])
  const node = 'query ($id: ID!) { node(id: $id) { ... on Worker { capacity } } }'
  expect((await client.data(node, { id: shown[0].id })).node).toEqual({ capacity: 3 })
  call.finish()
  await talk.settled(run)
  await expect.poll(async () => (await client.data(workers)).workers[0].activeRunCount).toBe(0)

  const { createApiKey } = await client.data(
    'mutation { createApiKey(input: { name: "reader", scopes: [READ] }) { secret } }',
  )
  const reader = createGraphQLClient(api.url, { authorization: `Bearer ${createApiKey.secret}` })
  for (const [query, variables] of [[workers, {}] as const, [node, { id: shown[0].id }] as const]) {
    expect((await reader.request(query, variables)).errors![0]!.extensions).toMatchObject({ code: 'FORBIDDEN' })
  }
  await database.pool.query("update workers set heartbeat_at = now() - interval '31 seconds'")
  expect((await client.data(workers)).workers).toEqual([])
  await database.pool.query('delete from api_keys')
})

test('[OPS2] without any worker the server is not ready and says why, and says in the log that runs wait', async () => {
  const captured = captureLog()
  const api = await start({ env: apiOnly, log: captured.log })
  const talk = talkTo(api)
  expect(await readiness(api)).toMatchObject({ code: 503, reason: expect.stringContaining('no worker is running') })
  const run = await talk.start(await talk.createAgent(), 'hello')
  const waits =
    'runs are waiting, but no worker is running: start one with the command `worker`, or a server with HOLDPOINT_WORKERS above 0'
  expect(await captured.until(waits)).toMatchObject({ level: 40 })
  const other = await start()
  ;(await model.nextCall()).finish()
  await talk.settled(run)
  await captured.until('a worker is running again')
  expect(captured.with(waits)).toHaveLength(1)
  expect(await readiness(api)).toMatchObject({ code: 200 })
  // Workers that restart one after another are gone for a moment.
  await other.stop()
  expect(await readiness(api)).toMatchObject({ code: 200 })
})

test('[OPS3] a run is left to a worker that has its provider and its tools in code, which does not count as an attempt', async () => {
  const lacking = await start({ providers: [] })
  const api = talkTo(await start({ env: apiOnly, tools: [pay] }))
  const agent = await api.createAgent({ tools: ['pay'] })
  await start({ tools: [pay] })
  for (let count = 0; count < 3; count += 1) {
    // Announced in the process that lacks both, so that one looks first.
    const run = await talkTo(lacking).start(agent, 'pay')
    const call = await model.nextCall()
    call.call('pay', {})
    call.finish()
    ;(await model.nextCall()).finish()
    const settled = await api.settled(run)
    expect(settled).toMatchObject({ status: 'COMPLETED', attempts: 1 })
    expect(settled.steps[0].toolCalls[0].result).toMatchObject({ status: 'SUCCESS', output: 'paid' })
  }
})

test('[OPS4] if no worker has what a run needs, the run fails and says what is missing', async () => {
  const api = talkTo(await start({ env: apiOnly }))
  await start({ providers: [] })
  const run = await api.start(await api.createAgent(), 'hello')
  const settled = await api.settled(run)
  expect(settled).toMatchObject({ status: 'FAILED', attempts: 1, error: { retryable: true } })
  expect(settled.error.message).toContain('cannot reach the model test/gated')
})

test('[OPS5] a worker without a tool in its code leaves the tool available while another worker has it', async () => {
  const api = await start({ tools: [pay] })
  const available = async () => {
    const { tools } = await api.data('{ tools(filter: { nameContains: "pay" }) { nodes { isAvailable } } }')
    return tools.nodes[0].isAvailable
  }
  await start()
  expect(await available()).toBe(true)
})

test('[OPS6] a worker answers health checks on a separate port', async () => {
  const captured = captureLog()
  const env = { HOLDPOINT_HEALTH_PORT: '0' }
  const worker = await start({ role: 'worker', env, log: captured.log })
  const { url } = captured.with('the health port is open')[0]!
  const at = async (path: string) => (await fetch(new URL(path, url))).status
  expect([await at('/healthz'), await at('/readyz'), await at('/graphql')]).toEqual([200, 200, 404])
  await worker.stop()
  await expect(fetch(url)).rejects.toThrow()
})

test('[SPD3] while there is nothing to do, a sweep is one statement, and few others are sent', async () => {
  const sent: string[] = []
  await start({
    database: { ...database, db: hookDatabase(database.pool, { before: (text) => void sent.push(text) }) },
  })
  const sweeps = () => sent.filter((text) => text.includes('"hasExpired"')).length
  const begun = sweeps()
  await expect.poll(sweeps).toBe(begun + 1)
  sent.length = 0
  await expect.poll(sweeps).toBeGreaterThanOrEqual(4)
  // A heartbeat, the clock, a comparison of the leases, and what is old.
  expect(sent.length - sweeps(), sent.join('\n')).toBeLessThanOrEqual(4)
})
