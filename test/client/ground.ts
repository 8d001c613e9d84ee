import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

import { createClient as createSocketClient, type Client as SocketClient } from 'graphql-ws'
import { WebSocket } from 'ws'

import { createClient, type Client } from '../../client/client.ts'
import type { Fetch } from '../../src/server/handlers.ts'

export interface TestClient {
  readonly client: Client
  /** Cuts the connection as a network does: no close frame, no `complete`. */
  cut(): void
  close(): Promise<void>
}

/** A way to a server that a test can shut: then connections break and new ones are refused. */
export interface Gate {
  readonly url: string
  shut(): Promise<void>
  open(): Promise<void>
}

export async function openGate(url: string): Promise<Gate> {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    const beyond = connect(Number(target.port), target.hostname)
    for (const end of [socket, beyond]) {
      sockets.add(end)
      end.on('error', () => {}).on('close', () => sockets.delete(end))
    }
    socket.pipe(beyond).pipe(socket)
  })
  let port = 0
  const open = async () => {
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    port = (server.address() as AddressInfo).port
  }
  await open()
  return {
    url: url.replace(target.host, `127.0.0.1:${port}`),
    open,
    async shut() {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

/** A client on a real WebSocket that a test can cut. */
export function openSocketClient(url: string, key?: string): TestClient {
  let open: WebSocket | undefined
  const socket: SocketClient = createSocketClient({
    url: url.replace(/^http/, 'ws'),
    retryAttempts: 0,
    webSocketImpl: WebSocket,
    on: { opened: (opened) => void (open = opened as WebSocket) },
    ...(key && { connectionParams: { Authorization: `Bearer ${key}` } }),
  })
  return {
    client: createClient({ url, socket, key }),
    cut: () => open?.terminate(),
    close: async () => socket.dispose(),
  }
}

/** A client on event streams that a test can cut. */
export function openEventClient(url: string, key?: string, fetch: Fetch = globalThis.fetch): TestClient {
  let abort = new AbortController()
  const cuttableFetch: Fetch = async (input, init) => {
    const cut = abort.signal
    const response = await fetch(input, init)
    if (!response.body || !response.headers.get('content-type')?.startsWith('text/event-stream')) return response
    const source = response.body.getReader()
    // It was cut while the server answered, and the signal will not say so again.
    if (cut.aborted) {
      await source.cancel()
      throw new Error('cut')
    }
    const body = new ReadableStream<Uint8Array>({
      start: (controller) =>
        cut.addEventListener('abort', () => {
          controller.error(new Error('cut'))
          source.cancel().catch(() => {})
        }),
      async pull(controller) {
        const { done, value } = await source.read()
        if (cut.aborted) return
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: () => source.cancel(),
    })
    return new Response(body, response)
  }
  const cut = (): void => {
    abort.abort()
    abort = new AbortController()
  }
  return { client: createClient({ url, key, fetch: cuttableFetch }), cut, close: async () => cut() }
}

/** Resolves when the condition is true. It is checked after each call of `look`. */
export function createWatch(): { look(): void; until(condition: () => boolean): Promise<void> } {
  const waiting = new Set<{ condition: () => boolean; resolve: () => void }>()
  return {
    look() {
      for (const one of [...waiting]) {
        if (!one.condition()) continue
        waiting.delete(one)
        one.resolve()
      }
    },
    until: (condition) =>
      new Promise((resolve) => {
        if (condition()) resolve()
        else waiting.add({ condition, resolve })
      }),
  }
}
