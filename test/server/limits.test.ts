import { request as httpRequest } from 'node:http'
import { text } from 'node:stream/consumers'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

import { getIntrospectionQuery } from 'graphql'
import { describe, expect, it } from 'vitest'

import { startServer } from './fixture.ts'
import { transportNames, transports } from './transports.ts'

const nested = (levels: number): string =>
  `{ person ${'{ friends(first: 1) '.repeat(levels)}{ name }${' }'.repeat(levels)} }`
const many = (count: number, one: (index: number) => string): string =>
  Array.from({ length: count }, (_, i) => one(i)).join(' ')

/** As much as a full introspection query asks for of each type. */
const typeFragment = `${getIntrospectionQuery().replace(/^[\s\S]*?fragment FullType/, 'fragment FullType')} fragment Type on __Type { ...FullType }`

const tooComplex = [
  {
    limit: 'depth',
    query: nested(14),
    message: 'Query depth limit of 15 exceeded, found 16.',
    figures: { depth: 16, depthLimit: 15 },
  },
  {
    limit: 'cost',
    query: '{ people(first: 200) { friends(first: 200) { name friends(first: 1) { name } } } }',
    message: 'The operation costs 120201, the limit is 50000.',
    figures: { cost: 120_201, costLimit: 50_000 },
  },
  {
    limit: 'aliases',
    query: `{ ${many(31, (i) => `a${i}: __typename`)} }`,
    message: 'Aliases limit of 30 exceeded, found 31.',
  },
  {
    limit: 'directives',
    query: `{ ${many(11, () => 'hello @include(if: true)')} }`,
    message: 'Directives limit of 10 exceeded, found 11.',
  },
  { limit: 'tokens', query: `{ ${'hello '.repeat(2000)} }`, message: 'Token limit of 2000 exceeded' },
]

describe.each(transportNames)('limits over %s', (transport) => {
  const ask = transports[transport]

  it.each(tooComplex)(
    '[SRV1] refuses an operation over the $limit limit and names the limit',
    async ({ query, message, figures }) => {
      const { client } = await startServer()
      const { data, errors } = await ask(client, { query })
      expect(data).toBeUndefined()
      expect(errors).toEqual([expect.objectContaining({ extensions: { code: 'OPERATION_TOO_COMPLEX', ...figures } })])
      expect(errors![0]!.message).toContain(message)
    },
  )

  it('[SRV1] counts the operation that was asked for, by its variables, not the first of the document', async () => {
    const { client } = await startServer()
    const query =
      'query Cheap { hello } query Dear($first: Int) { people(first: $first) { friends(first: 200) { name friends(first: 1) { name } } } }'
    const dear = await ask(client, { query, operationName: 'Dear', variables: { first: 200 } })
    expect(dear.errors![0]!.extensions.code).toBe('OPERATION_TOO_COMPLEX')
    const small = await ask(client, { query, operationName: 'Dear', variables: { first: 1 } })
    expect(small.data.people).toHaveLength(1)
  })

  it('[SRV1] counts a subscription before its source is opened', async () => {
    const { client, ground } = await startServer()
    const query = 'subscription { people(first: 200) { friends(first: 200) { name friends(first: 1) { name } } } }'
    const { errors } = await ask(client, { query })
    expect(errors![0]!.extensions.code).toBe('OPERATION_TOO_COMPLEX')
    expect(ground.sourcesOpened).toBe(0)
  })

  it('[SRV1] does not count fragments as levels, and counts what is in them', async () => {
    const { client } = await startServer()
    const allowed = `${nested(13).replace('{ name }', '{ ...on Person { ...Name } }')} fragment Name on Person { name }`
    expect((await ask(client, { query: allowed })).errors).toBeUndefined()
    const fragments = many(
      16,
      (i) => `fragment F${i} on Person { friends(first: 1) { ${i < 15 ? `...F${i + 1}` : 'name'} } }`,
    )
    const { errors } = await ask(client, { query: `{ person { ...F0 } } ${fragments}` })
    expect(errors![0]!.extensions.code).toBe('OPERATION_TOO_COMPLEX')
  })

  it('[SRV1] lets the introspection of GraphiQL and of code generators pass', async () => {
    const { client } = await startServer()
    const query = getIntrospectionQuery({ inputValueDeprecation: true, schemaDescription: true, oneOf: true })
    const { data } = await ask(client, { query })
    expect(data.__schema.queryType.name).toBe('Query')
  })

  it.each([
    `{ ${many(3, (i) => `a${i}: __schema { types { ...Type } }`)} } ${typeFragment}`,
    `{ __schema { ${many(3, (i) => `a${i}: types { ...Type }`)} } } ${typeFragment}`,
    `{ ...A ...B ...C } ${['A', 'B', 'C'].map((name) => `fragment ${name} on Query { a${name}: __schema { types { ...Type } } }`).join(' ')} ${typeFragment}`,
  ])('[SRV33] refuses introspection that is larger than twice the full query: %#', async (query) => {
    const { client } = await startServer()
    const { data, errors } = await ask(client, { query })
    expect(data).toBeUndefined()
    expect(errors![0]!.extensions.code).toBe('OPERATION_TOO_COMPLEX')
  })

  it('[SRV33] lets small introspection pass', async () => {
    const { client } = await startServer()
    const query = '{ __type(name: "Person") { fields { name type { name } } } __schema { types { name } } __typename }'
    expect((await ask(client, { query })).errors).toBeUndefined()
  })

  it('[SRV2] answers TIMEOUT when a query takes too long', async () => {
    const { client } = await startServer({ limits: { executionMs: 50 } })
    const { errors } = await ask(client, { query: '{ wait(gate: "never") }' })
    expect(errors).toEqual([expect.objectContaining({ extensions: { code: 'TIMEOUT' } })])
    expect(errors![0]!.message).toContain('50 ms')
  })
})

describe('the size of requests', () => {
  const large = JSON.stringify({ query: '{ hello }', variables: { text: 'x'.repeat(256 * 1024) } })

  it('[SRV3] refuses a body above the limit with 413', async () => {
    const { client } = await startServer({ limits: { requestBytes: 256 * 1024 } })
    const { status, errors } = await client.request('', {}, { body: large })
    expect(status).toBe(413)
    expect(errors![0]!.extensions.code).toBe('BAD_REQUEST')
    expect(errors![0]!.message).toMatch(/262144 bytes.*HOLDPOINT_MAX_BODY/)
  })

  it('[SRV3] counts a body that comes in chunks', async () => {
    const { client } = await startServer({ limits: { requestBytes: 256 * 1024 } })
    const { promise, resolve } = Promise.withResolvers<{ status: number; body: string }>()
    const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' }
    const request = httpRequest(client.url, { method: 'POST', headers }, (response) => {
      void text(response).then((body) => resolve({ status: response.statusCode!, body }))
    })
    request.on('error', () => {})
    for (let at = 0; at < large.length; at += 16_384) request.write(large.slice(at, at + 16_384))
    request.end()
    const { status, body } = await promise
    expect(status).toBe(413)
    expect(JSON.parse(body).errors[0].extensions).toEqual({ code: 'BAD_REQUEST' })
  })

  it('[SRV3] takes a body just below the limit', async () => {
    const { client } = await startServer({ limits: { requestBytes: 256 * 1024 } })
    const { data } = await client.request('{ hello }', { text: 'x'.repeat(255 * 1024) })
    expect(data).toEqual({ hello: 'world' })
  })

  it('[SRV3] closes a socket whose frame is above the limit with 1009, and no other', async () => {
    const { client } = await startServer({ limits: { requestBytes: 256 * 1024 } })
    const [bystander, offender] = [client.webSocket(), client.webSocket()]
    await bystander.request('{ hello }')
    await offender.request('{ hello }', { text: 'x'.repeat(256 * 1024) }).catch(() => {})
    expect(await offender.closed).toMatchObject({ code: 1009, reason: expect.stringMatching(/HOLDPOINT_MAX_BODY/) })
    expect((await bystander.request('{ hello }')).data).toEqual({ hello: 'world' })
    await bystander.dispose()
  })
})

describe('the cache of documents', () => {
  it.each(['HTTP', 'WebSocket'] as const)(
    '[SRV34] is bounded by the memory that documents take, over %s',
    async (name) => {
      const { client } = await startServer({ limits: { documentCacheBytes: 2 * megabyte } })
      const socket = client.webSocket()
      const ask = (query: string) => (name === 'HTTP' ? client.request(query) : socket.request(query))
      const large = (i: number) => `query Q${i} { greet(input: { names: [${'{name:""}'.repeat(390)}] }) }`
      for (let i = 0; i < 10; i += 1) await ask(large(i))
      const before = await liveHeap()
      for (let i = 10; i < 50; i += 1) expect(await ask(large(i))).toMatchObject({ data: { greet: ','.repeat(389) } })
      // Without the limit, these 40 documents take 18 MB.
      expect((await liveHeap()) - before).toBeLessThan(8 * megabyte)
      await socket.dispose()
    },
  )
})

const megabyte = 1024 * 1024

/** The memory in use after a full garbage collection. */
async function liveHeap(): Promise<number> {
  setFlagsFromString('--expose-gc')
  ;(runInNewContext('gc') as () => void)()
  return process.memoryUsage().heapUsed
}
