import { setTimeout as sleep } from 'node:timers/promises'

import { createClient } from 'graphql-ws'

import { runEvents, type RunEvent } from './shared.ts'
import { tellStory, url } from './story.ts'

/** Everything over one WebSocket, which the library opens again by itself when it is lost. */
const socket = createClient({
  url: url.replace(/^http/, 'ws'),
  retryAttempts: 20,
  retryWait: (retries) => sleep(Math.min(50 * 2 ** retries, 10_000)),
})

/** After a drop the library sends a mutation again: those that must not happen twice have an idempotency key. */
async function ask(query: string, variables: object): Promise<any> {
  for await (const { data, errors } of socket.iterate({ query, variables: { ...variables } })) {
    if (errors) throw new Error(errors.map((error) => error.message).join('\n'))
    return data
  }
}

await tellStory({
  query: ask,
  mutate: ask,
  follow(runId, after, onEvent) {
    // The library subscribes again with this very object. With a cursor left as it was, the stream would come from
    // there again: longer, but the same text in the end.
    const variables: Record<string, unknown> = { runId, after }
    return new Promise((resolve, reject) => {
      socket.subscribe<{ runEvents: RunEvent }>(
        { query: runEvents, variables },
        {
          next({ data, errors }) {
            if (errors) reject(new Error(errors.map((error) => error.message).join('\n')))
            if (!data) return
            variables['after'] = data.runEvents.cursor
            onEvent(data.runEvents)
          },
          error: reject,
          complete: resolve,
        },
      )
    })
  },
  drop: () => socket.terminate(),
  close: () => socket.dispose(),
})
