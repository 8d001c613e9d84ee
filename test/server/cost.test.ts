import { describe, expect, it, onTestFinished } from 'vitest'

import { startTestApp } from '../support/app.ts'
import { createGraphQLClient } from '../support/graphql-client.ts'
import { startServer } from './fixture.ts'
import { transportNames, transports } from './transports.ts'

const asking = { headers: { 'x-holdpoint-cost': '1' } }

/** The extensions of the answer to a query with the header. */
async function costOf(client: Awaited<ReturnType<typeof startServer>>['client'], query: string, variables = {}) {
  const answer = (await client.request(query, variables, asking)) as { extensions?: { cost?: unknown }; status: number }
  return { ...answer, cost: answer.extensions?.cost }
}

async function startApp(env: Record<string, string>) {
  const app = await startTestApp({ env: { HOLDPOINT_API_KEY: 'hp_cost', ...env } })
  onTestFinished(() => app.stop())
  return createGraphQLClient(app.url, { authorization: 'Bearer hp_cost' })
}

describe('Query.rateLimit', () => {
  const query = '{ rateLimit { cost costLimit requestsPerSecond remaining } }'

  it.each(transportNames)('[COST1] shows the cost of its operation and what is left, over %s', async (transport) => {
    const client = await startApp({ HOLDPOINT_KEY_REQUESTS: '50' })
    const { data } = await transports[transport](client, { query })
    expect(data).toEqual({
      rateLimit: { cost: 5, costLimit: 50_000, requestsPerSecond: 50, remaining: expect.any(Number) },
    })
    // Twice as many may come at once.
    expect(data.rateLimit.remaining).toBeGreaterThanOrEqual(90)
    expect(data.rateLimit.remaining).toBeLessThanOrEqual(100)
    const dear = await transports[transport](client, {
      query: `{ agents(first: 100) { nodes { id } } ${query.slice(1)}`,
    })
    expect(dear.data.rateLimit.cost).toBe(106)
  })

  it('[COST1] is null where requests are not limited, and 1,000 by default', async () => {
    const unlimited = await startApp({ HOLDPOINT_KEY_REQUESTS: '0' })
    expect((await unlimited.data(query)).rateLimit).toMatchObject({ requestsPerSecond: null, remaining: null })
    expect((await (await startApp({})).data(query)).rateLimit).toMatchObject({ requestsPerSecond: 1_000 })
    const slow = await startApp({ HOLDPOINT_KEY_REQUESTS: '1' })
    expect((await slow.data(query)).rateLimit).toMatchObject({ requestsPerSecond: 1, remaining: 1 })
  })
})

describe('the header x-holdpoint-cost', () => {
  it('[COST2] adds the cost to the answer of a validated operation, whether it succeeds or not', async () => {
    const { client } = await startServer({ limits: { keyRequests: 100 } })
    const shown = { costLimit: 50_000, requestsPerSecond: 100, remaining: expect.any(Number) }
    expect(await costOf(client, '{ hello }')).toMatchObject({ data: { hello: 'world' }, cost: { cost: 1, ...shown } })
    expect(await costOf(client, 'mutation { fail(kind: "input") }')).toMatchObject({ cost: { cost: 1, ...shown } })
    const dear = await costOf(client, '{ people(first: 200) { friends(first: 200) { friends(first: 2) { name } } } }')
    expect(dear).toMatchObject({ status: 400, cost: { cost: expect.any(Number), ...shown } })
    expect((dear.cost as { cost: number }).cost).toBeGreaterThan(50_000)
    expect((await costOf(client, '{ nothing }')).cost).toBeUndefined()
    expect((await costOf(client, '{')).cost).toBeUndefined()
  })

  it('[COST2] is needed', async () => {
    const { client } = await startServer()
    expect(await client.request('{ hello }')).not.toHaveProperty('extensions')
    expect(await client.request('{ hello }', {}, { headers: { 'x-holdpoint-cost': '0' } })).not.toHaveProperty(
      'extensions',
    )
  })

  it('[COST2] adds the cost to each event of a stream', async () => {
    const { client, ground } = await startServer()
    const abort = new AbortController()
    const response = await fetch(client.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...asking.headers },
      body: JSON.stringify({ query: 'subscription { ticks }' }),
      signal: abort.signal,
    })
    await expect.poll(() => ground.sources.size).toBe(1)
    for (const source of ground.sources) source.push(1)
    let text = ''
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk
      if (text.includes('ticks')) break
    }
    expect(JSON.parse(/^data: (.*ticks.*)$/m.exec(text)![1]!)).toMatchObject({
      data: { ticks: 1 },
      extensions: { cost: { cost: 1, costLimit: 50_000, requestsPerSecond: 1_000 } },
    })
    abort.abort()
    await expect.poll(() => ground.sources.size).toBe(0)
  })
})
