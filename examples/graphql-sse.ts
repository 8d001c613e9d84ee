import { createClient } from 'graphql-sse'

import { runEvents, type RunEvent } from './shared.ts'
import { tellStory, url } from './story.ts'

/** Breaks off whatever is being read. */
let connection = new AbortController()

/** Plain HTTP: each operation is a POST of its own ("distinct connections"), answered by an event stream. */
const client = createClient({
  url,
  // No attempts of its own: a lost connection is an error here, and we subscribe again with the last cursor.
  retryAttempts: 0,
  // Only there to let this program drop its connection.
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
