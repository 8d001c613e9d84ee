import SchemaBuilder from '@pothos/core'
import ComplexityPlugin from '@pothos/plugin-complexity'
import type { GraphQLSchema } from 'graphql'
import { pino } from 'pino'
import { onTestFinished } from 'vitest'

import { badUserInput, HoldpointError, notFound } from '../../src/domain/errors.ts'
import { createHttpServer, type HttpServer } from '../../src/server/http.ts'
import type { HttpServerOptions } from '../../src/server/options.ts'
import { createGraphQLClient, type GraphQLClient } from '../support/graphql-client.ts'

/** The state that the test shares with the resolvers of the test schema. */
export interface Ground {
  readonly gates: Map<string, PromiseWithResolvers<string>>
  readonly sources: Set<Ticker>
  sourcesOpened: number
  readonly contexts: object[]
  readonly logged: Record<string, any>[]
}

export interface Ticker extends AsyncIterableIterator<number> {
  push(value: number): void
  fail(error: Error): void
  end(): void
}

interface TestViewer {
  readonly keyName: string
}

export interface TestServer {
  readonly server: HttpServer
  readonly origin: string
  readonly client: GraphQLClient
  readonly ground: Ground
}

export async function startServer(options: Partial<HttpServerOptions<TestViewer>> = {}): Promise<TestServer> {
  const ground: Ground = { gates: new Map(), sources: new Set(), sourcesOpened: 0, contexts: [], logged: [] }
  const server = createHttpServer<TestViewer>({
    schema: createTestSchema(ground),
    authenticate: async (authorization) => {
      if (authorization === null) return { keyName: 'open' }
      if (authorization === 'Bearer good') return { keyName: 'good' }
      if (authorization === 'Bearer database-down') throw Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
      if (authorization === 'Bearer bug') throw new TypeError('a bug with secret facts')
      throw new HoldpointError('UNAUTHENTICATED', 'The key is not valid.')
    },
    createContext: (viewer) => {
      const context = { viewer }
      ground.contexts.push(context)
      return context
    },
    log: pino({ level: 'debug' }, { write: (line: string) => ground.logged.push(JSON.parse(line)) }),
    openFile: async () => undefined,
    graphiql: true,
    ready: async () => true,
    ...options,
  })
  const { port } = await server.listen('127.0.0.1', 0)
  onTestFinished(() => server.close())
  const origin = `http://127.0.0.1:${port}`
  return { server, origin, client: createGraphQLClient(`${origin}/graphql`), ground }
}

/** A hand-made iterator: `return` releases it at once, also while `next` waits. */
function createTicker(ground: Ground): Ticker {
  const buffered: (number | Error)[] = []
  let waiting: PromiseWithResolvers<IteratorResult<number>> | undefined
  let done = false
  const settle = (): void => {
    if (waiting === undefined) return
    const value = buffered.shift()
    if (value instanceof Error) waiting.reject(value)
    else if (value !== undefined) waiting.resolve({ done: false, value })
    else if (done) waiting.resolve({ done: true, value: undefined })
    else return
    waiting = undefined
  }
  const finish = (): void => {
    done = true
    ground.sources.delete(ticker)
    settle()
  }
  const ticker: Ticker = {
    push: (value) => (buffered.push(value), settle()),
    fail: (error) => (buffered.push(error), settle()),
    end: finish,
    next() {
      waiting = Promise.withResolvers<IteratorResult<number>>()
      const { promise } = waiting
      settle()
      return promise
    },
    async return() {
      finish()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]: () => ticker,
  }
  ground.sources.add(ticker)
  ground.sourcesOpened += 1
  return ticker
}

function createTestSchema(ground: Ground): GraphQLSchema {
  const builder = new SchemaBuilder<{
    Context: { viewer: TestViewer }
    Scalars: { Anything: { Input: unknown; Output: unknown } }
  }>({
    plugins: [ComplexityPlugin],
    complexity: { defaultListMultiplier: 10 },
  })
  builder.scalarType('Anything', { serialize: (value) => value })
  type Person = { name: string }
  const Person = builder.objectRef<Person>('Person')
  const page = ({ first }: { first?: number | null | undefined }): { field: number; multiplier: number } => ({
    field: 1,
    multiplier: Math.min(Math.max(first ?? 50, 1), 200),
  })
  Person.implement({
    fields: (t) => ({
      name: t.exposeString('name'),
      friends: t.field({
        type: [Person],
        args: { first: t.arg.int() },
        complexity: page,
        resolve: (_person, { first }) => Array.from({ length: first ?? 50 }, (_, i) => ({ name: `friend ${i}` })),
      }),
    }),
  })
  const NameInput = builder.inputType('NameInput', { fields: (t) => ({ name: t.string({ required: true }) }) })
  const PersonInput = builder.inputType('PersonInput', {
    fields: (t) => ({ names: t.field({ type: [NameInput], required: true }) }),
  })
  const Rank = builder.enumType('Rank', { values: ['LOW', 'HIGH'] as const })

  const fail = (kind: string): never => {
    if (kind === 'input') throw badUserInput('input.name', 'must not be empty')
    if (kind === 'missing') throw notFound('agent', 'agent_1')
    if (kind === 'database') throw new Error('Connection terminated unexpectedly')
    // oxlint-disable-next-line typescript/only-throw-error -- what a careless library might throw
    if (kind === 'string') throw 'just text with a secret'
    throw new Error(`secret: ${kind}`)
  }

  builder.queryType({
    fields: (t) => ({
      hello: t.string({ resolve: () => 'world' }),
      viewer: t.string({ resolve: (_root, _args, { viewer }) => viewer.keyName }),
      person: t.field({ type: Person, resolve: () => ({ name: 'Ada' }) }),
      people: t.field({
        type: [Person],
        args: { first: t.arg.int() },
        complexity: page,
        resolve: (_root, { first }) => Array.from({ length: first ?? 50 }, (_, i) => ({ name: `person ${i}` })),
      }),
      wait: t.string({
        args: { gate: t.arg.string({ required: true }) },
        resolve: (_root, { gate }) => {
          const opened = Promise.withResolvers<string>()
          ground.gates.set(gate, opened)
          return opened.promise
        },
      }),
      fail: t.string({
        nullable: true,
        args: { kind: t.arg.string({ required: true }) },
        resolve: (_root, { kind }) => fail(kind),
      }),
      rank: t.field({ type: Rank, nullable: true, resolve: () => 'SECRET' as 'LOW' }),
      // JSON cannot express it.
      unwritable: t.field({ type: 'Anything', nullable: true, resolve: () => 1n }),
      greet: t.string({
        args: { input: t.arg({ type: PersonInput, required: true }) },
        resolve: (_root, { input }) => input.names.map(({ name }) => name).join(),
      }),
    }),
  })
  builder.mutationType({
    fields: (t) => ({
      save: t.string({
        nullable: true,
        args: { name: t.arg.string({ required: true }) },
        resolve: (_root, { name }) => name,
      }),
      fail: t.string({
        nullable: true,
        args: { kind: t.arg.string({ required: true }) },
        resolve: (_root, { kind }) => fail(kind),
      }),
    }),
  })
  builder.subscriptionType({
    fields: (t) => ({
      ticks: t.int({
        args: { failing: t.arg.string(), each: t.arg.string() },
        subscribe: (_root, { failing }) => (failing ? fail(failing) : createTicker(ground)),
        resolve: (value, { each }) => (each && value === 2 ? fail(each) : value),
      }),
      people: t.field({
        type: [Person],
        args: { first: t.arg.int() },
        complexity: page,
        subscribe: () => createTicker(ground),
        resolve: () => [{ name: 'Ada' }],
      }),
    }),
  })
  return builder.toSchema()
}
