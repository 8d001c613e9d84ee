import type { McpServer } from '../domain/mcp-server.ts'
import type { ListedTool } from '../domain/tool-access.ts'
import { abortable } from '../util/abort.ts'
import type { McpCall, McpClient } from './mcp-client.ts'
import type { GuardedNetwork } from './network-guard.ts'

const idleMs = 60_000

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
  readonly client: Promise<McpClient>
  idle: NodeJS.Timeout | undefined
}

/**
 * Connections to Model Context Protocol servers: made when a tool is called, kept for the next call, closed when idle.
 */
export class McpConnections {
  readonly #network: GuardedNetwork
  readonly #connections = new Map<string, Connection>()

  constructor(network: GuardedNetwork) {
    this.#network = network
  }

  /** On a connection of its own, which is not kept. */
  async listTools(server: Address): Promise<ListedTool[]> {
    const client = await connect(this.#network, server)
    try {
      return await client.listTools()
    } catch (error) {
      throw new McpUnreachableError(error)
    } finally {
      await client.close()
    }
  }

  /** What the tool returned, as text; throws what it failed with. */
  async callTool(server: McpServer, call: McpCall): Promise<string> {
    for (let attempt = 1; ; attempt += 1) {
      const client = await abortable(this.#connected(server), call.signal)
      const answer = await client.callTool(call)
      if (answer.outcome === 'returned') return answer.text
      if (answer.outcome === 'failed') throw answer.error
      void this.#forget(server.id)
      if (answer.outcome === 'unreachable' || attempt > 1) throw new McpUnreachableError(answer.error)
    }
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#connections.keys()].map((id) => this.#forget(id)))
  }

  async #connected(server: McpServer): Promise<McpClient> {
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
    await client?.close()
  }
}

async function connect(network: GuardedNetwork, server: Address): Promise<McpClient> {
  // Loading the SDK takes longer than starting the rest of the server, and most servers never need it.
  const { McpClient } = await import('./mcp-client.ts')
  try {
    return await McpClient.connect(network, server)
  } catch (error) {
    throw new McpUnreachableError(error)
  }
}
