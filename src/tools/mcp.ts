import type { ListedTool } from '../domain/tools/tool-access.ts'
import { abortable } from '../util/abort.ts'
import { errorMessage } from '../util/error-message.ts'
import { cutText, storableText } from '../util/json.ts'
import type { ToolOutput } from './execution.ts'
import type { McpAddress, McpAnswer, McpCall, McpClient } from './mcp-client.ts'
import type { McpTokens } from './mcp-tokens.ts'
import type { GuardedNetwork } from '../util/network-guard.ts'

/** The server cannot be reached, or does not speak the protocol. Its own words may be part of the message. */
export class McpUnreachableError extends Error {
  constructor(cause: unknown) {
    super(cutText(storableText(errorMessage(cause)), 2_000), { cause })
    this.name = 'McpUnreachableError'
  }
}

interface Connection {
  /** Address and credentials. If they change, a new connection is made. */
  readonly address: string
  readonly client: Promise<McpClient>
  /** True for a local program, which would lose its state if it were started again. */
  readonly staysOpen: boolean
  /** How many calls are running on it. It is not closed while there are any, unless it is broken. */
  calls: number
  /** Closes the connection when it has not been used for a while. */
  idle: NodeJS.Timeout | undefined
}

/**
 * Connections to Model Context Protocol servers: made when a tool is called, kept for the next call, closed when idle.
 */
export class McpConnections {
  readonly #network: GuardedNetwork
  readonly #idleMs: number
  readonly #connections = new Map<string, Connection>()
  readonly #tokens: McpTokens = new WeakMap()
  #closed = false

  constructor(network: GuardedNetwork, { idleMs = 60_000 }: { readonly idleMs?: number } = {}) {
    this.#network = network
    this.#idleMs = idleMs
  }

  /** Uses a separate connection, which is not kept. */
  async listTools(server: McpAddress): Promise<ListedTool[]> {
    const client = await connect(this.#network, server, this.#tokens)
    try {
      return await client.listTools()
    } catch (error) {
      throw new McpUnreachableError(error)
    } finally {
      await client.close()
    }
  }

  /** Returns the tool's result, also if the tool reports a failure. Throws if the server could not answer. */
  async callTool(serverId: string, server: McpAddress, call: McpCall): Promise<ToolOutput> {
    for (let attempt = 1; ; attempt += 1) {
      const answer = await this.#callOnce(serverId, server, call)
      if (answer.outcome === 'returned') return answer.output
      if (answer.outcome === 'failed') throw answer.error
      if (answer.outcome === 'unreachable' || attempt > 1) throw new McpUnreachableError(answer.error)
    }
  }

  /** Calls that are made later fail. */
  async closeAll(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#connections].map(([id, connection]) => this.#close(id, connection)))
  }

  async #callOnce(serverId: string, server: McpAddress, call: McpCall): Promise<McpAnswer> {
    const connection = this.#connectionTo(serverId, server)
    connection.calls += 1
    clearTimeout(connection.idle)
    let broken = false
    try {
      const client = await abortable(connection.client, call.signal)
      const answer = await client.callTool(call)
      broken = answer.outcome === 'unreachable' || answer.outcome === 'session lost'
      return answer
    } catch (error) {
      broken = error instanceof McpUnreachableError
      throw error
    } finally {
      connection.calls -= 1
      if (broken) void this.#close(serverId, connection)
      else if (connection.calls === 0) this.#closeWhenIdle(serverId, connection)
    }
  }

  #connectionTo(serverId: string, server: McpAddress): Connection {
    if (this.#closed) throw new Error('The server is stopping.')
    const address = JSON.stringify([server.url, server.headers])
    const known = this.#connections.get(serverId)
    if (known?.address === address) return known
    const staysOpen = Boolean(server.launch)
    const connection = {
      address,
      staysOpen,
      client: connect(this.#network, server, this.#tokens),
      calls: 0,
      idle: undefined,
    }
    // The next caller gets this error.
    connection.client.catch(() => undefined)
    this.#connections.set(serverId, connection)
    // Calls that are running on the old connection finish there.
    if (known?.calls === 0) void this.#close(serverId, known)
    return connection
  }

  #closeWhenIdle(serverId: string, connection: Connection): void {
    if (this.#connections.get(serverId) !== connection) return void this.#close(serverId, connection)
    if (connection.staysOpen) return
    connection.idle = setTimeout(() => void this.#close(serverId, connection), this.#idleMs).unref()
  }

  async #close(serverId: string, connection: Connection): Promise<void> {
    if (this.#connections.get(serverId) === connection) this.#connections.delete(serverId)
    clearTimeout(connection.idle)
    const client = await connection.client.catch(() => undefined)
    await client?.close()
  }
}

async function connect(network: GuardedNetwork, server: McpAddress, tokens: McpTokens): Promise<McpClient> {
  // Loading the SDK takes longer than starting the rest of the server, and most servers never need it.
  const { McpClient } = await import('./mcp-client.ts')
  try {
    return await McpClient.connect(network, server, tokens)
  } catch (error) {
    throw new McpUnreachableError(error)
  }
}
