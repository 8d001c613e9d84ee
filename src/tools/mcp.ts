import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport, StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ErrorCode, McpError, type CallToolResult } from '@modelcontextprotocol/sdk/types.js'

import type { McpServer } from '../domain/mcp-server.ts'
import type { ListedTool } from '../domain/tool-access.ts'
import { isJsonObject, type JsonObject } from '../util/json.ts'
import type { GuardedNetwork } from './network-guard.ts'

const connectMs = 10_000
const idleMs = 60_000
const maxPages = 20
const maxAnswerBytes = 20 * 1024 ** 2

type Address = Pick<McpServer, 'url' | 'headers'>

/** The server cannot be reached, or not be talked to. */
export class McpUnreachableError extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.name = 'McpUnreachableError'
  }
}

interface Connection {
  /** Where it goes and as whom: a server that was changed is connected to anew. */
  readonly address: string
  readonly client: Promise<Client>
  idle: NodeJS.Timeout | undefined
}

/** Connections to Model Context Protocol servers: made when a tool is called, kept for the next call, closed when idle. */
export class McpConnections {
  readonly #network: GuardedNetwork
  readonly #connections = new Map<string, Connection>()

  constructor(network: GuardedNetwork) {
    this.#network = network
  }

  /** On a connection of its own, and not kept: what a server lists is compiled by the client that asked. */
  async listTools(server: Address): Promise<ListedTool[]> {
    const client = await connect(this.#network, server)
    try {
      const tools: ListedTool[] = []
      let cursor: string | undefined
      for (let page = 0; page < maxPages; page += 1) {
        const answer = await client.listTools(cursor === undefined ? {} : { cursor }, { timeout: connectMs })
        for (const { name, description, inputSchema } of answer.tools)
          tools.push({ name, description: description ?? '', parameters: inputSchema as JsonObject })
        cursor = answer.nextCursor
        if (cursor === undefined) break
      }
      return tools
    } catch (error) {
      throw new McpUnreachableError(error)
    } finally {
      await close(client)
    }
  }

  /** What the tool returned, as text; throws what it failed with. */
  async callTool(
    server: McpServer,
    call: {
      readonly name: string
      readonly args: JsonObject
      readonly signal: AbortSignal
      readonly timeoutMs: number
    },
  ): Promise<string> {
    const { name, args, signal, timeoutMs } = call
    for (let attempt = 1; ; attempt += 1) {
      const client = await aborting(this.#connected(server), signal)
      try {
        const result = await client.callTool({ name, arguments: { ...args } }, undefined, {
          signal,
          timeout: timeoutMs,
        })
        return textOf(result as CallToolResult)
      } catch (error) {
        if (isTransportError(error)) this.#forget(server.id)
        // A server that knows the session no longer has done nothing: the call can be made again.
        if (attempt > 1 || !isLostSession(error)) throw error
      }
    }
  }

  async closeAll(): Promise<void> {
    const open = [...this.#connections.keys()].map((id) => this.#forget(id))
    await Promise.all(open)
  }

  async #connected(server: McpServer): Promise<Client> {
    const address = JSON.stringify([server.url, server.headers])
    const known = this.#connections.get(server.id)
    if (known && known.address !== address) void this.#forget(server.id)
    const connection = this.#connections.get(server.id) ?? {
      address,
      client: connect(this.#network, server),
      idle: undefined,
    }
    this.#connections.set(server.id, connection)
    clearTimeout(connection.idle)
    connection.idle = setTimeout(() => void this.#forget(server.id), idleMs).unref()
    try {
      return await connection.client
    } catch (error) {
      if (this.#connections.get(server.id) === connection) void this.#forget(server.id)
      throw error
    }
  }

  async #forget(serverId: string): Promise<void> {
    const connection = this.#connections.get(serverId)
    this.#connections.delete(serverId)
    clearTimeout(connection?.idle)
    const client = await connection?.client.catch(() => undefined)
    if (client) await close(client)
  }
}

async function connect(network: GuardedNetwork, { url, headers }: Address): Promise<Client> {
  const client = new Client({ name: 'holdpoint', version: '1' })
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers },
    fetch: async (target, init) => limited(await network.fetch(target, init)),
  })
  try {
    // Its sessionId is optional in a way that exactOptionalPropertyTypes does not take.
    await client.connect(transport as Parameters<Client['connect']>[0], { timeout: connectMs })
    return client
  } catch (error) {
    await close(client)
    throw new McpUnreachableError(error)
  }
}

/** The session is ended too, where the server has one; one that is gone needs no goodbye. */
async function close(client: Client): Promise<void> {
  const { transport } = client
  if (transport instanceof StreamableHTTPClientTransport) {
    await Promise.race([
      transport.terminateSession().catch(() => undefined),
      new Promise((resolve) => setTimeout(resolve, 1_000).unref()),
    ])
  }
  await client.close().catch(() => undefined)
}

/** An answer that never ends is cut off. */
function limited(response: Response): Response {
  if (!response.body) return response
  let left = maxAnswerBytes
  const counting = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      left -= chunk.length
      if (left < 0) controller.error(new Error('The server answered with more than 20 MB.'))
      else controller.enqueue(chunk)
    },
  })
  const { status, statusText, headers } = response
  return new Response(response.body.pipeThrough(counting), { status, statusText, headers })
}

function isTransportError(error: unknown): boolean {
  return !(error instanceof McpError) || error.code === ErrorCode.ConnectionClosed
}

function isLostSession(error: unknown): boolean {
  if (!(error instanceof StreamableHTTPError)) return false
  return error.code === 404 || (error.code === 400 && /session|initiali[sz]ed/i.test(error.message))
}

function textOf(result: CallToolResult): string {
  const parts = (result.content ?? []).map((part) => {
    switch (part.type) {
      case 'text':
        return part.text
      case 'resource':
        return 'text' in part.resource ? part.resource.text : `[resource ${part.resource.uri}]`
      case 'resource_link':
        return `[resource ${part.uri}]`
      default:
        return `[${part.type} ${part.mimeType}]`
    }
  })
  const structured = parts.length === 0 && isJsonObject(result.structuredContent)
  const text = structured ? JSON.stringify(result.structuredContent) : parts.join('\n')
  if (result.isError) throw new Error(text === '' ? 'The tool failed without saying why.' : text)
  return text
}

async function aborting<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(signal.reason as Error)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
