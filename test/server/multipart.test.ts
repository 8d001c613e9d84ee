import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client'
import { describe, expect, it, vi, onTestFinished } from 'vitest'

import { startTestApp } from '../support/app.ts'
import { createGatedModel } from '../support/gated-model.ts'
import { talkTo } from '../support/talk.ts'
import { startServer } from './fixture.ts'

const accept = 'multipart/mixed;boundary=graphql;subscriptionSpec=1.0,application/json'

async function open(url: string, query: string, headers: Record<string, string> = {}) {
  const abort = new AbortController()
  onTestFinished(() => abort.abort())
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept, ...headers },
    body: JSON.stringify({ query }),
    signal: abort.signal,
  })
  let text = ''
  const chunks = response.body!.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]()
  return {
    response,
    abort: () => abort.abort(),
    /** Everything up to and including this text, or up to the end. */
    async readTo(end?: string): Promise<string> {
      while (end === undefined || !text.includes(end)) {
        const { done, value } = await chunks.next()
        if (done) break
        text += value
      }
      return text
    },
  }
}

const part = (body: object) =>
  `\r\nContent-Type: application/json; charset=utf-8\r\n\r\n${JSON.stringify(body)}\r\n--graphql`

describe('subscriptions as multipart', () => {
  it.each([
    'multipart/mixed;boundary=graphql;subscriptionSpec=1.0,application/json',
    'multipart/mixed; subscriptionSpec="1.0"',
    'application/json;q=0.5, Multipart/Mixed; SubscriptionSpec="1.0"; boundary="graphql"',
  ])('[MULTI1] each event is a part, and the last delimiter closes the stream: %s', async (given) => {
    const { client, ground } = await startServer()
    const stream = await open(client.url, 'subscription { ticks }', { accept: given })
    expect(stream.response.status).toBe(200)
    expect(stream.response.headers.get('content-type')).toBe(
      'multipart/mixed;boundary="graphql";subscriptionSpec="1.0"',
    )
    expect(stream.response.headers.get('x-accel-buffering')).toBe('no')
    const [source] = ground.sources
    source!.push(1)
    const first = `\r\n--graphql${part({ payload: { data: { ticks: 1 } } })}`
    expect(await stream.readTo('"ticks":1}}}\r\n--graphql')).toBe(first)
    source!.push(2)
    source!.end()
    expect(await stream.readTo()).toBe(`${first}${part({ payload: { data: { ticks: 2 } } })}--\r\n`)
    expect(ground.sources.size).toBe(0)
  })

  it('[MULTI2] silence is interrupted by empty parts within ten seconds', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const { client } = await startServer()
    const stream = await open(client.url, 'subscription { ticks }')
    await stream.readTo('--graphql')
    vi.advanceTimersByTime(10_000)
    expect(await stream.readTo('{}\r\n--graphql')).toBe(`\r\n--graphql${part({})}`)
  })

  it('[MULTI3] a client that leaves releases the source', async () => {
    const { client, ground } = await startServer()
    const stream = await open(client.url, 'subscription { ticks }')
    expect(ground.sources.size).toBe(1)
    stream.abort()
    await expect.poll(() => ground.sources.size).toBe(0)
  })

  it.each([
    ['subscription { nothing }', 400, 'GRAPHQL_VALIDATION_FAILED', {}],
    ['subscription {', 400, 'GRAPHQL_PARSE_FAILED', {}],
    ['subscription { ticks(failing: "missing") }', 404, 'NOT_FOUND', {}],
    ['subscription { ticks }', 401, 'UNAUTHENTICATED', { authorization: 'Bearer bad' }],
  ])(
    '[MULTI4] an error before the first event is JSON with its status: %s %s',
    async (query, status, code, headers) => {
      const { client } = await startServer()
      for (const given of [accept, 'multipart/mixed;subscriptionSpec="1.0"']) {
        const { response, readTo } = await open(client.url, query, { accept: given, ...headers })
        expect(response.status).toBe(status)
        expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
        expect(JSON.parse(await readTo())).toMatchObject({ errors: [{ extensions: { code } }] })
      }
    },
  )

  it('[MULTI4] a query is answered as JSON', async () => {
    const { client } = await startServer()
    const { response, readTo } = await open(client.url, '{ hello }')
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(JSON.parse(await readTo())).toEqual({ data: { hello: 'world' } })
  })

  it('[MULTI5] a stream that fails ends with the error as its last part', async () => {
    const { client, ground } = await startServer()
    const stream = await open(client.url, 'subscription { ticks }')
    const [source] = ground.sources
    source!.fail(new Error('a bug with secret facts'))
    source!.end()
    const text = await stream.readTo()
    expect(text).toContain('{"payload":{"errors":[{')
    expect(text).toContain('"code":"INTERNAL_SERVER_ERROR"')
    expect(text).not.toContain('secret')
    expect(text.endsWith('--graphql--\r\n')).toBe(true)
  })

  it('[MULTI3] a server that closes cuts the stream without its last delimiter', async () => {
    const { client, server } = await startServer()
    const stream = await open(client.url, 'subscription { ticks }')
    await stream.readTo('--graphql')
    await server.close()
    await expect(stream.readTo()).rejects.toThrow('terminated')
  })
})

it('[MULTI6] Apollo Client follows a run with its HTTP link alone', async () => {
  const model = createGatedModel()
  const app = await startTestApp({ providers: [model.provider] })
  onTestFinished(() => app.stop())
  const client = new ApolloClient({ link: new HttpLink({ uri: app.url }), cache: new InMemoryCache() })
  const talk = talkTo(app)
  const run = await talk.start(await talk.createAgent(), 'hello')
  const call = await model.nextCall()
  const events: { __typename: string; text?: string; status?: string }[] = []
  const query = gql`
    subscription ($run: ID!) {
      runEvents(runId: $run) {
        __typename
        ... on TextDelta {
          text
        }
        ... on RunStatusChanged {
          status
        }
      }
    }
  `
  const variables = { run }
  await new Promise<void>((resolve, reject) => {
    client.subscribe<{ runEvents: (typeof events)[number] }>({ query, variables }).subscribe({
      next({ data }) {
        events.push(data!.runEvents)
        // The model goes on when its words so far have arrived.
        if (data!.runEvents.__typename === 'StepStarted') call.say('one two')
        if (data!.runEvents.text === 'one two') call.say(' three')
        if (data!.runEvents.text === ' three') call.finish()
      },
      error: reject,
      complete: resolve,
    })
  })
  expect(events.map(({ text = '' }) => text).join('')).toBe('one two three')
  expect(events.at(-1)).toMatchObject({ __typename: 'RunStatusChanged', status: 'COMPLETED' })

  const failed = await new Promise((resolve) => {
    client.subscribe({ query, variables: { run: 'run_x' } }).subscribe({
      next: ({ error }) => resolve(error),
      error: resolve,
    })
  })
  expect(String(failed)).toMatch(/run_x|404/)
})
