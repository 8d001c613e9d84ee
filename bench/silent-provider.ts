import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface OpenRequest {
  /** When the client closed the connection, by `performance.now()`. */
  readonly closed: Promise<number>
}

/** A server that speaks Chat Completions, starts every answer and finishes none. */
export interface SilentProvider {
  readonly url: string
  /** Resolves with the next request once the beginning of its answer has been sent. */
  nextRequest(): Promise<OpenRequest>
  stop(): Promise<void>
}

const beginning = `data: ${JSON.stringify({
  id: 'bench',
  object: 'chat.completion.chunk',
  created: 0,
  model: 'bench',
  choices: [{ index: 0, delta: { role: 'assistant', content: 'Once upon a time' }, finish_reason: null }],
})}\n\n`

export async function startSilentProvider(): Promise<SilentProvider> {
  const made: OpenRequest[] = []
  let waiting: PromiseWithResolvers<void> | undefined
  const begin = (response: ServerResponse): void => {
    const closed = new Promise<number>((resolve) => response.once('close', () => resolve(performance.now())))
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(beginning, () => {
      made.push({ closed })
      waiting?.resolve()
    })
  }
  const server = createServer((request, response) => {
    request.resume().once('end', () => begin(response))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async nextRequest() {
      while (made.length === 0) {
        waiting = Promise.withResolvers()
        await waiting.promise
      }
      return made.shift()!
    },
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
