import { ApolloClient, ApolloLink, gql, HttpLink, InMemoryCache } from '@apollo/client/core'
import { GraphQLWsLink } from '@apollo/client/link/subscriptions'
import { createClient } from 'graphql-ws'

import possibleTypes from '../possible-types.json' with { type: 'json' }
import { typePolicies } from './actors.ts'
import { runEvents, type RunEvent } from './shared.ts'
import { tellStory, url } from './story.ts'

/** The library must not retry: a lost connection is an error, and we subscribe again with the last cursor. */
const socket = createClient({ url: url.replace(/^http/, 'ws'), retryAttempts: 0 })

const client = new ApolloClient({
  // Without the possible types, Apollo silently drops fragments on interfaces (`... on Refusal`).
  cache: new InMemoryCache({ possibleTypes, typePolicies }),
  link: ApolloLink.split(
    ({ operationType }) => operationType === 'subscription',
    new GraphQLWsLink(socket),
    new HttpLink({ uri: url }),
  ),
})

await tellStory({
  async query(document, variables) {
    return (await client.query({ query: gql(document), variables, fetchPolicy: 'network-only' })).data
  },
  async mutate(document, variables) {
    return (await client.mutate({ mutation: gql(document), variables })).data
  },
  follow(runId, after, onEvent) {
    return new Promise((resolve, reject) => {
      client
        .subscribe<{ runEvents: RunEvent }>({
          query: gql(runEvents),
          variables: { runId, after },
          // Do not write every event to the cache and notify every query.
          fetchPolicy: 'no-cache',
          // Otherwise equal subscriptions share one stream, and a later subscriber misses its beginning.
          context: { queryDeduplication: false },
        })
        .subscribe({
          next({ data, error }) {
            if (error) reject(new Error(error.message))
            if (data) onEvent(data.runEvents)
          },
          error: reject,
          complete: resolve,
        })
    })
  },
  drop: () => socket.terminate(),
  async close() {
    client.stop()
    await socket.dispose()
  },
})
