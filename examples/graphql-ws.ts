import { setTimeout as sleep } from 'node:timers/promises'

import { createClient } from 'graphql-ws'

import { runEvents, type RunEvent } from './shared.ts'
import { tellStory, url } from './story.ts'

/** Everything goes over one WebSocket. The library reconnects by itself. */
const socket = createClient({
  url: url.replace(/^http/, 'ws'),
  retryAttempts: 20,
  retryWait: (retries) => sleep(Math.min(50 * 2 ** retries, 10_000)),
})

/** After a drop the library repeats mutations. Those that must not happen twice have an idempotency key. */
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
    // The library resubscribes with this object, so we keep its cursor up to date. With an old cursor, events would be
    // repeated, and the text would be the same in the end.
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
