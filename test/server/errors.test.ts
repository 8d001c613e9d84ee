import { GraphQLError } from 'graphql'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'

import { toClientError } from '../../src/graphql/errors.ts'
import { startServer } from './fixture.ts'
import { transportNames, transports } from './transports.ts'

const refusals = [
  { what: 'a syntax error', query: '{ hello', code: 'GRAPHQL_PARSE_FAILED', executed: false },
  { what: 'an unknown field', query: '{ helo }', code: 'GRAPHQL_VALIDATION_FAILED', executed: false },
  {
    what: 'a document with no such operation',
    query: 'query A { hello }',
    operationName: 'B',
    code: 'OPERATION_RESOLUTION_FAILURE',
    executed: false,
  },
  {
    what: 'two operations and no name',
    query: 'query A { hello } query B { hello }',
    code: 'OPERATION_RESOLUTION_FAILURE',
    executed: false,
  },
  {
    what: 'a variable that does not fit',
    query: 'query ($input: PersonInput!) { greet(input: $input) }',
    variables: { input: { names: [{ name: 'Ada' }, { name: 5 }] } },
    code: 'BAD_USER_INPUT',
    extensions: { field: 'input.names[1].name' },
    executed: false,
  },
  {
    what: 'a missing variable',
    query: 'query ($input: PersonInput!) { greet(input: $input) }',
    code: 'BAD_USER_INPUT',
    extensions: { field: 'input' },
    executed: false,
  },
  {
    what: 'a broken rule',
    query: '{ fail(kind: "input") }',
    code: 'BAD_USER_INPUT',
    extensions: { field: 'input.name' },
    executed: true,
  },
  {
    what: 'an unknown id',
    query: 'mutation { fail(kind: "missing") }',
    code: 'NOT_FOUND',
    extensions: { id: 'agent_1' },
    executed: true,
  },
  { what: 'a lost database', query: '{ fail(kind: "database") }', code: 'UNAVAILABLE', executed: true },
  {
    what: 'a bug',
    query: '{ fail(kind: "bug") }',
    code: 'INTERNAL_SERVER_ERROR',
    extensions: { errorId: expect.any(String) },
    executed: true,
  },
  {
    what: 'a thrown text',
    query: '{ fail(kind: "string") }',
    code: 'INTERNAL_SERVER_ERROR',
    extensions: { errorId: expect.any(String) },
    executed: true,
  },
  {
    what: 'a result that does not fit the schema',
    query: '{ rank }',
    code: 'INTERNAL_SERVER_ERROR',
    extensions: { errorId: expect.any(String) },
    executed: true,
  },
  {
    what: 'a source that fails to open',
    query: 'subscription { ticks(failing: "missing") }',
    code: 'NOT_FOUND',
    extensions: { id: 'agent_1' },
    executed: false,
  },
  {
    what: 'a source with a bug',
    query: 'subscription { ticks(failing: "bug") }',
    code: 'INTERNAL_SERVER_ERROR',
    extensions: { errorId: expect.any(String) },
    executed: false,
  },
]

describe.each(transportNames)('errors over %s', (transport) => {
  const ask = transports[transport]
  // Plain HTTP has no subscriptions.
  const asked = refusals.filter(({ query }) => transport !== 'HTTP' || !query.startsWith('subscription'))

  it.each(asked)(
    '[SRV4] answers $what with $code and nothing else',
    async ({ query, variables, operationName, code, extensions, executed }) => {
      const { client } = await startServer()
      const result = await ask(client, {
        query,
        ...(variables && { variables }),
        ...(operationName && { operationName }),
      })
      expect(result.errors).toHaveLength(1)
      expect(result.errors![0]!.extensions).toEqual({ code, ...extensions })
      expect('data' in result).toBe(executed)
      expect(JSON.stringify(result)).not.toContain('secret')
    },
  )

  it('[SRV5] logs a bug whole with the id that the client got', async () => {
    const { client, ground } = await startServer()
    const { errors } = await ask(client, { query: '{ fail(kind: "bug") }' })
    const { errorId } = errors![0]!.extensions
    const logged = ground.logged.filter((line) => line.errorId === errorId)
    expect(logged).toHaveLength(1)
    expect(logged[0]!.err).toMatchObject({ message: 'secret: bug', stack: expect.stringContaining('fixture.ts') })
    expect(errors![0]!.message).toContain(String(errorId))
  })

  it('[SRV4] does not let one failing mutation hide that another took effect', async () => {
    const { client } = await startServer()
    const { data, errors } = await ask(client, { query: 'mutation { save(name: "a") fail(kind: "bug") }' })
    expect(data).toEqual({ save: 'a', fail: null })
    expect(errors![0]!.path).toEqual(['fail'])
  })
})

it.each(['HTTP', 'WebSocket'] as const)('[SRV4] masks a result that JSON cannot express over %s', async (transport) => {
  const { client } = await startServer()
  const { errors } = await transports[transport](client, { query: '{ unwritable }' })
  expect(errors![0]!.extensions).toEqual({ code: 'INTERNAL_SERVER_ERROR', errorId: expect.any(String) })
})

describe.each(['SSE', 'WebSocket'] as const)('errors in the middle of a stream over %s', (transport) => {
  it('[SRV6] codes and masks an error of one event, and continues', async () => {
    const { client, ground } = await startServer()
    const socket = client.webSocket()
    const query = 'subscription { ticks(each: "bug") }'
    const stream = transport === 'SSE' ? await client.events(query) : socket.stream(query)
    const first = stream.next()
    const ticker = await opened(ground)
    for (const value of [1, 2, 3]) ticker.push(value)
    expect(await first).toEqual({ data: { ticks: 1 } })
    expect(await stream.next()).toMatchObject({
      errors: [{ extensions: { code: 'INTERNAL_SERVER_ERROR', errorId: expect.any(String) } }],
    })
    expect(await stream.next()).toEqual({ data: { ticks: 3 } })
    await stream.close()
    await socket.dispose()
  })

  it('[SRV6] codes and masks an error of the source, and ends only that stream', async () => {
    const { client, ground } = await startServer()
    const socket = client.webSocket()
    const stream =
      transport === 'SSE' ? await client.events('subscription { ticks }') : socket.stream('subscription { ticks }')
    const first = stream.next()
    const ticker = await opened(ground)
    ticker.push(1)
    await first
    const failed = stream.next()
    ticker.fail(new Error('secret: source'))
    const result = await failed
    expect(result!.errors).toEqual([
      expect.objectContaining({ extensions: { code: 'INTERNAL_SERVER_ERROR', errorId: expect.any(String) } }),
    ])
    expect(JSON.stringify(result)).not.toContain('secret')
    expect((await socket.request('{ hello }')).data).toEqual({ hello: 'world' })
    await socket.dispose()
  })
})

async function opened(ground: { sources: Set<unknown> }): Promise<any> {
  return expect
    .poll(() => [...ground.sources][0])
    .toBeDefined()
    .then(() => [...ground.sources][0])
}

describe('toClientError', () => {
  const log = pino({ level: 'silent' })

  it.each([
    Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
    Object.assign(new Error('no such socket'), { code: 'ENOENT', syscall: 'connect' }),
    Object.assign(new Error('terminating connection due to administrator command'), { code: '57P01' }),
    Object.assign(new Error('connection failure'), { code: '08006' }),
    Object.assign(new Error('could not extend file: No space left on device'), { code: '53100' }),
    Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' }),
    Object.assign(new Error('cannot execute INSERT in a read-only transaction'), { code: '25006' }),
    Object.assign(new Error('deadlock detected'), { code: '40P01' }),
    new AggregateError([Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })]),
    new Error('timeout exceeded when trying to connect'),
  ])('[SRV4] a transient failure of the database is UNAVAILABLE: %s', (error) => {
    expect(toClientError(error, log).code).toBe('UNAVAILABLE')
    expect(toClientError(new GraphQLError('located', { originalError: error }), log).code).toBe('UNAVAILABLE')
  })

  it('[SRV4] takes a missing file, an unknown code and a broken constraint for bugs', () => {
    const errors = [
      Object.assign(new Error('open'), { code: 'ENOENT', syscall: 'open' }),
      Object.assign(new Error('duplicate key'), { code: '23505' }),
      new GraphQLError('oops', { extensions: { code: 'MADE_UP', stacktrace: [] } }),
    ]
    for (const error of errors) {
      expect(toClientError(error, log).toJSON().extensions).toEqual({
        code: 'INTERNAL_SERVER_ERROR',
        errorId: expect.any(String),
      })
    }
  })

  it('[SRV5] leaves an error for clients as it is, so that it is logged once', () => {
    const shown = toClientError(new Error('bug'), log)
    expect(toClientError(shown, log)).toBe(shown)
  })
})
