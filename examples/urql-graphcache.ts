import { readFile } from 'node:fs/promises'

import { Client, fetchExchange, subscriptionExchange, type OperationResult } from '@urql/core'
import { cacheExchange } from '@urql/exchange-graphcache'
import { buildSchema, introspectionFromSchema, isObjectType } from 'graphql'
import { createClient, type Sink } from 'graphql-ws'

import { keys as actorKeys } from './actors.ts'
import { runEvents, type RunEvent } from './shared.ts'
import { tellStory, url } from './story.ts'

/** The same file as `GET /schema.graphql`. With it, Graphcache knows which types implement an interface. */
const schema = buildSchema(await readFile(new URL('../schema.graphql', import.meta.url), 'utf8'))

/** Types without an id are part of the object that shows them. Events are not objects: they are seen once. */
const keys = Object.fromEntries(
  Object.values(schema.getTypeMap())
    .filter((type) => isObjectType(type) && !type.getFields()['id'])
    .map((type) => [type.name, () => null]),
)

/** The library must not retry: a lost connection is an error, and we subscribe again with the last cursor. */
const socket = createClient({ url: url.replace(/^http/, 'ws'), retryAttempts: 0 })

const client = new Client({
  url,
  preferGetMethod: false,
  exchanges: [
    cacheExchange({ schema: introspectionFromSchema(schema) as never, keys: { ...keys, ...actorKeys } }),
    fetchExchange,
    subscriptionExchange({
      forwardSubscription: ({ query = '', variables }) => ({
        subscribe: (sink) => ({
          unsubscribe: socket.subscribe({ query, variables: { ...variables } }, sink as Sink),
        }),
      }),
    }),
  ],
})

function dataOf({ data, error }: OperationResult): any {
  if (error) throw error
  return data
}

await tellStory({
  query: async (document, variables) =>
    dataOf(await client.query(document, variables, { requestPolicy: 'network-only' })),
  mutate: async (document, variables) => dataOf(await client.mutation(document, variables)),
  follow(runId, after, onEvent) {
    return new Promise((resolve, reject) => {
      client.subscription<{ runEvents: RunEvent }>(runEvents, { runId, after }).subscribe((result) => {
        if (result.error) return reject(result.error)
        // urql repeats the last event with `hasNext: false`. The transcript ignores the repeat.
        if (result.data) onEvent(result.data.runEvents)
        if (!result.hasNext) resolve()
      })
    })
  },
  drop: () => socket.terminate(),
  close: () => socket.dispose(),
})
