import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'

/** A Model Context Protocol server of the SDK, over streamable HTTP, with sessions. */
export interface TestMcpServer {
  readonly url: string
  /** The headers of every request. */
  readonly headers: Record<string, string | string[] | undefined>[]
  readonly sessions: ReadonlyMap<string, unknown>
  /** Forgets every session, like a server that was restarted. */
  forgetSessions(): void
  stop(): Promise<void>
}

export async function startMcpServer(
  register: (server: McpServer) => void,
  {
    port = 0,
    authorize = () => true,
  }: {
    readonly port?: number
    /** Returns whether to continue. Otherwise it has answered. */
    readonly authorize?: (request: IncomingMessage, response: ServerResponse) => boolean
  } = {},
): Promise<TestMcpServer> {
  const sessions = new Map<string, StreamableHTTPServerTransport>()
  const headers: TestMcpServer['headers'] = []
  const http: Server = createServer((request, response) => void handle(request, response))
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    headers.push(request.headers)
    if (!authorize(request, response)) return
    const id = request.headers['mcp-session-id'] as string | undefined
    let transport = id === undefined ? undefined : sessions.get(id)
    if (id !== undefined && !transport) return void response.writeHead(404).end('{"error":"Session not found"}')
    if (!transport) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (session) => void sessions.set(session, transport!),
        onsessionclosed: (session) => void sessions.delete(session),
      })
      const server = new McpServer({ name: 'test', version: '1' })
      register(server)
      await server.connect(transport)
    }
    await transport.handleRequest(request, response)
  }
  await new Promise<void>((resolve) => http.listen(port, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    headers,
    sessions,
    forgetSessions: () => sessions.clear(),
    async stop() {
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  }
}
