import { readFileSync } from 'node:fs'

import { afterAll, expect, test } from 'vitest'

import { Metrics } from '../../src/telemetry/metrics.ts'
import { toPrometheus } from '../../src/telemetry/prometheus.ts'
import { defineTool } from '../../src/tools/registry.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { captureLog } from '../support/captured-log.ts'
import { createGatedModel } from '../support/gated-model.ts'
import { createGraphQLClient } from '../support/graphql-client.ts'
import { parsePrometheus, type Family } from '../support/prometheus.ts'
import { approve, talkTo } from '../support/talk.ts'

const model = createGatedModel()
const priced = { ...model.provider, priceOf: () => ({ input: 1, output: 2, cachedInput: 1, cacheWrite: 1 }) }
const lookUp = defineTool({
  name: 'look_up',
  description: 'Looks.',
  parameters: { type: 'object' },
  run: () => 'found',
})

const app = await startTestApp({ providers: [priced], tools: [lookUp] })
const talk = talkTo(app)
afterAll(async () => {
  await app.stop()
  model.assertAllTaken()
})

const addressOf = ({ url }: TestApp) => url.replace('/graphql', '/metrics')

async function scrape(from: TestApp = app): Promise<Map<string, Family>> {
  const response = await fetch(addressOf(from))
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    'text/plain; version=0.0.4; charset=utf-8',
  ])
  return parsePrometheus(await response.text())
}

function valueOf(families: Map<string, Family>, name: string, labels: Record<string, string> = {}): number | undefined {
  const family = [...families].find(([known]) => name.startsWith(known))?.[1]
  return family?.samples.find(
    (sample) =>
      sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  )?.value
}

test('[MET1] every metric of runs, models, tools and approvals is at /metrics, in a form that Prometheus reads', async () => {
  const agent = await talk.createAgent({ tools: [{ name: 'look_up', approvalOverride: true }] })
  const run = await talk.start(agent, 'hello')
  const call = await model.nextCall()
  expect(valueOf(await scrape(), 'holdpoint_runs_active')).toBe(1)
  call.say('one moment')
  call.call('look_up', {})
  call.finish({ usage: { inputTokens: 7, outputTokens: 3, cachedInputTokens: 2, reasoningTokens: 1 } })
  const [pending] = await talk.pending(run)
  // The database is asked once in a second.
  await expect.poll(async () => valueOf(await scrape(), 'holdpoint_approvals_waiting', { needs: 'APPROVAL' })).toBe(1)
  expect(valueOf(await scrape(), 'holdpoint_approvals_oldest_seconds')).toBeGreaterThan(0)
  await talk.submit(run, [approve(pending)])
  const last = await model.nextCall()
  last.say('done')
  last.finish()
  await talk.settled(run)

  const families = await scrape()
  const is = (name: string, labels: Record<string, string> = {}) => valueOf(families, name, labels)
  const gated = { model: 'test/gated' }
  expect(
    is('holdpoint_runs_ended_total', { ...gated, status: 'COMPLETED', stop_reason: 'END_TURN', kind: 'TURN' }),
  ).toBe(1)
  expect(is('holdpoint_run_duration_seconds_count', { status: 'COMPLETED' })).toBe(1)
  expect(is('holdpoint_queue_wait_seconds_count')).toBe(1)
  expect(is('holdpoint_model_duration_seconds_count', gated)).toBe(2)
  expect(is('holdpoint_model_time_to_first_token_seconds_count', gated)).toBe(2)
  expect(is('holdpoint_step_duration_seconds_count', { ...gated, status: 'COMPLETED' })).toBe(2)
  expect(is('holdpoint_tool_duration_seconds_count', { tool: 'look_up', status: 'SUCCEEDED' })).toBe(1)
  expect(is('holdpoint_approval_wait_seconds_count', { tool: 'look_up', decision: 'APPROVED' })).toBe(1)
  expect(is('holdpoint_tokens_total', { ...gated, type: 'input' })).toBe(17)
  expect(is('holdpoint_tokens_total', { ...gated, type: 'output' })).toBe(8)
  expect(is('holdpoint_tokens_total', { ...gated, type: 'cached_input' })).toBe(2)
  expect(is('holdpoint_tokens_total', { ...gated, type: 'reasoning' })).toBe(1)
  expect(is('holdpoint_cost_usd_total', gated)).toBeGreaterThan(0)
})

test('[MET2] the state of the installation and of the process is at /metrics', async () => {
  const reader = await startTestApp({ database: app.database, env: { HOLDPOINT_WORKERS: '0' } })
  try {
    const agent = await talk.createAgent()
    const run = await talk.start(agent, 'hello')
    await talk.send(agent, 'and then', { whenBusy: 'ENQUEUE' })
    const call = await model.nextCall()
    const events = await reader.events(`subscription { runEvents(runId: "${run}") { __typename } }`)
    await events.next()
    await expect.poll(async () => valueOf(await scrape(), 'holdpoint_queue_depth', { state: 'behind' })).toBe(1)
    await expect.poll(async () => valueOf(await scrape(reader), 'holdpoint_subscribers')).toBeGreaterThan(0)
    // The processes know of each other, so their messages to all come back to them.
    await expect.poll(async () => valueOf(await scrape(reader), 'holdpoint_bus_delay_seconds_count')).toBeGreaterThan(0)
    const families = await scrape(reader)
    expect(valueOf(families, 'holdpoint_workers_alive')).toBe(1)
    expect(valueOf(families, 'holdpoint_workers_capacity')).toBe(64)
    expect(valueOf(families, 'holdpoint_queue_depth', { state: 'ready' })).toBe(0)
    expect(valueOf(families, 'holdpoint_queue_oldest_seconds')).toBe(0)
    expect(valueOf(families, 'holdpoint_pool_connections', { state: 'idle' })).toBeGreaterThan(0)
    expect(valueOf(families, 'holdpoint_pool_waiting')).toBe(0)
    expect(valueOf(families, 'holdpoint_bus_connected')).toBe(1)
    expect(valueOf(families, 'process_resident_memory_bytes')).toBeGreaterThan(1e7)
    expect(valueOf(families, 'process_cpu_seconds_total')).toBeGreaterThan(0)
    await expect
      .poll(async () => valueOf(await scrape(reader), 'holdpoint_event_loop_delay_seconds_count'))
      .toBeGreaterThan(0)
    call.finish()
    ;(await model.nextCall()).finish()
    events.close()
    await talk.settled(run)
  } finally {
    await reader.stop()
  }
})

test('[MET2] the rows that were deleted in the background are counted', async () => {
  const { createConversation } = await app.data(
    'mutation ($id: ID!) { createConversation(input: { agentId: $id }) { conversation { id } } }',
    { id: await talk.createAgent() },
  )
  const { id } = createConversation.conversation
  await app.data('mutation ($id: ID!) { deleteConversation(input: { id: $id }) { __typename } }', { id })
  const deleted = async () => valueOf(await scrape(), 'holdpoint_retention_deleted_total', { kind: 'deleted' })
  await expect.poll(deleted, { timeout: 30_000 }).toBeGreaterThan(0)
})

test('[MET3] with keys, /metrics needs the scope MANAGE; the health port shows it without a key', async () => {
  const captured = captureLog()
  const env = { HOLDPOINT_API_KEY: 'hp_secret_of_the_server', HOLDPOINT_HEALTH_PORT: '0' }
  const locked = await startTestApp({ env, log: captured.log })
  try {
    const ask = async (authorization?: string) => {
      const response = await fetch(addressOf(locked), { headers: authorization ? { authorization } : {} })
      return [response.status, (await response.text()).slice(0, 1)]
    }
    expect(await ask()).toEqual([401, '{'])
    expect(await ask('Bearer hp_wrong')).toEqual([401, '{'])
    expect(await ask('Bearer hp_secret_of_the_server')).toEqual([200, '#'])
    const client = createGraphQLClient(locked.url, { authorization: 'Bearer hp_secret_of_the_server' })
    const { createApiKey } = await client.data(
      `mutation { createApiKey(input: { name: "reader", scopes: [READ] }) { secret } }`,
    )
    expect(await ask(`Bearer ${createApiKey.secret}`)).toEqual([403, '{'])
    const { url } = captured.with('the health port is open')[0]!
    const shown = await fetch(new URL('/metrics', url))
    expect(parsePrometheus(await shown.text()).has('holdpoint_workers_alive')).toBe(true)
  } finally {
    await locked.stop()
  }
})

test('[MET4] a client that invents labels cannot fill the memory, and odd names do no harm', () => {
  const metrics = new Metrics()
  const count = metrics.counter({ name: 'holdpoint.odd', unit: '{thing}', help: 'Odd \\ things,\non two lines.' })
  count(1, { tool: 'a"b\\c\nd' })
  for (let number = 0; number < 5_000; number += 1) count(1, { tool: `tool ${number}` })
  return metrics.collect().then((families) => {
    const [family] = parsePrometheus(toPrometheus(families)).values()
    expect(family!.samples).toHaveLength(1_001)
    expect(family!.samples[0]).toEqual({ name: 'holdpoint_odd_total', labels: { tool: 'a"b\\c\nd' }, value: 1 })
    expect(family!.samples.find(({ labels }) => labels['tool'] === 'other')!.value).toBe(4_001)
  })
})

test('[MET5] the dashboard and the documentation name metrics that exist, and leave none out', async () => {
  const names = [...(await scrape()).keys()].toSorted()
  const read = (file: string) => readFileSync(new URL(`../../docs/${file}`, import.meta.url), 'utf8')
  const named = (text: string) =>
    [...new Set(text.match(/\b(holdpoint|process)_[a-z_]+/g))].map((name) => name.replace(/_(bucket|count|sum)$/, ''))
  for (const text of [read('grafana-dashboard.json'), read('operation.md')])
    expect([...new Set(named(text))].toSorted()).toEqual(names)
})
