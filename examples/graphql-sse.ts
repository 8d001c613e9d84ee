import { createClient } from 'graphql-sse'

import { runEvents, type RunEvent } from './shared.ts'
import { tellStory, url } from './story.ts'

/** Aborts the requests that are being read. */
let connection = new AbortController()

/** Plain HTTP: each operation is its own POST ("distinct connections"), and the answer is an event stream. */
const client = createClient({
  url,
  // The library must not retry: a lost connection is an error, and we subscribe again with the last cursor.
  retryAttempts: 0,
  // Only needed so that this program can drop its connection.
  fetchFn: (address: string, init: RequestInit) =>
    fetch(address, { ...init, signal: AbortSignal.any([connection.signal, init.signal!]) }),
})

async function ask(query: string, variables: object): Promise<any> {
  for await (const { data, errors } of client.iterate({ query, variables: { ...variables } })) {
    if (errors) throw new Error(errors.map((error) => error.message).join('\n'))
    return data
  }
}

await tellStory({
  query: ask,
  mutate: ask,
  async follow(runId, after, onEvent) {
    const results = client.iterate<{ runEvents: RunEvent }>({ query: runEvents, variables: { runId, after } })
    for await (const { data, errors } of results) {
      if (errors) throw new Error(errors.map((error) => error.message).join('\n'))
      if (data) onEvent(data.runEvents)
    }
  },
  drop() {
    connection.abort()
    connection = new AbortController()
  },
  close: () => client.dispose(),
})
