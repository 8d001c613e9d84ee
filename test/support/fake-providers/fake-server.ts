import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A request that the real provider would refuse. */
export interface Refusal {
  readonly status: number
  readonly body: unknown
  readonly headers?: Record<string, string>
}

export interface ReceivedRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly bodyText: string
  readonly body: any
}

/** The models that every fake server lists. */
const listedModels = ['local-model', 'gpt-5-mini', 'claude-opus-5-5']

/** A request that waits for the test to answer it. */
export interface Exchange extends ReceivedRequest {
  /** Resolves when the client has closed the connection before the answer was complete. */
  readonly closed: Promise<void>
  /** One server-sent event. */
  send(data: unknown, event?: string): void
  raw(text: string): void
  end(): void
  /** Breaks the connection. */
  cut(): void
  refuse(refusal: Refusal): void
  /** For answers that no real provider would give. */
  readonly response: ServerResponse
}

export interface FakeServer {
  readonly url: string
  /** Waits for the next valid request. Every request must be taken. */
  next(): Promise<Exchange>
  /** What was wrong with the requests that were refused. */
  readonly refused: string[]
  stop(): Promise<void>
}

/** A server that accepts what `check` lets through and answers only when told to. */
export async function startFakeServer(
  check: (request: ReceivedRequest) => Refusal | undefined,
  list: (names: readonly string[]) => object = bothLists,
): Promise<FakeServer> {
  const made: Exchange[] = []
  const refused: string[] = []
  let waiting: PromiseWithResolvers<void> | undefined

  const server = createServer((incoming, response) => void receive(incoming, response))
  async function receive(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    if (incoming.method === 'GET') return listModels(incoming, response, list)
    const bodyText = await readAll(incoming)
    const request: ReceivedRequest = {
      method: incoming.method ?? '',
      path: incoming.url ?? '',
      headers: incoming.headers,
      bodyText,
      body: JSON.parse(bodyText),
    }
    const exchange = openExchange(request, response)
    const refusal = check(request)
    if (refusal) {
      refused.push(JSON.stringify(refusal.body))
      return exchange.refuse(refusal)
    }
    made.push(exchange)
    waiting?.resolve()
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    refused,
    async next() {
      while (made.length === 0) {
        waiting = Promise.withResolvers<void>()
        await waiting.promise
      }
      return made.shift()!
    },
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
      if (made.length > 0) throw new Error(`${made.length} requests were made that no test took`)
    },
  }
}

function openExchange(request: ReceivedRequest, response: ServerResponse): Exchange {
  const closed = Promise.withResolvers<void>()
  response.on('close', () => {
    if (!response.writableFinished) closed.resolve()
  })
  const open = () => {
    if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' })
  }
  return {
    ...request,
    response,
    closed: closed.promise,
    send(data, event) {
      open()
      response.write(`${event ? `event: ${event}\n` : ''}data: ${JSON.stringify(data)}\n\n`)
    },
    raw(text) {
      open()
      response.write(text)
    },
    end() {
      open()
      response.end()
    },
    cut() {
      // What was written must be sent before the connection breaks.
      setImmediate(() => response.socket?.destroy())
    },
    refuse({ status, body, headers }) {
      response.writeHead(status, { 'content-type': 'application/json', ...headers })
      response.end(JSON.stringify(body))
    },
  }
}

/** OpenAI and Anthropic list models in the same way. */
function bothLists(names: readonly string[]): object {
  return { object: 'list', data: names.map((id) => ({ id })) }
}

function listModels({ url = '' }: IncomingMessage, response: ServerResponse, list: typeof bothLists): void {
  const found = /\/models(\?.*)?$/.test(url)
  response.writeHead(found ? 200 : 404, { 'content-type': 'application/json' })
  response.end(JSON.stringify(found ? list(listedModels) : {}))
}

async function readAll(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}
