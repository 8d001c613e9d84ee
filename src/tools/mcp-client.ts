import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport, StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ErrorCode, McpError, type CallToolResult } from '@modelcontextprotocol/sdk/types.js'

import type { McpServer } from '../domain/mcp-server.ts'
import type { ListedTool } from '../domain/tool-access.ts'
import { isJsonObject, type JsonObject } from '../util/json.ts'
import type { GuardedNetwork } from './network-guard.ts'

const connectMs = 10_000
const maxPages = 20
const maxAnswerBytes = 20 * 1024 ** 2

export interface McpCall {
  readonly name: string
  readonly args: JsonObject
  readonly signal: AbortSignal
  readonly timeoutMs: number
}

export type McpAnswer =
  | { readonly outcome: 'returned'; readonly text: string }
  /** By the tool itself, or because it was told to stop. */
  | { readonly outcome: 'failed'; readonly error: Error }
  /** The server knows the session no longer, and has done nothing. */
  | { readonly outcome: 'session lost'; readonly error: Error }
  | { readonly outcome: 'unreachable'; readonly error: Error }

/** A conversation with one Model Context Protocol server, over streamable HTTP. */
export class McpClient {
  readonly #client: Client
  readonly #transport: StreamableHTTPClientTransport

  private constructor(client: Client, transport: StreamableHTTPClientTransport) {
    this.#client = client
    this.#transport = transport
  }

  static async connect(network: GuardedNetwork, { url, headers }: Pick<McpServer, 'url' | 'headers'>) {
    const client = new Client({ name: 'holdpoint', version: '1' })
    const transport = new StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers },
      fetch: async (target, init) => limited(await network.fetch(target, init)),
    })
    const opened = new McpClient(client, transport)
    try {
      // Its sessionId is optional in a way that exactOptionalPropertyTypes does not take.
      await client.connect(transport, { timeout: connectMs })
      return opened
    } catch (error) {
      await opened.close()
      throw error
    }
  }

  /** The client remembers what was listed: not to be called on one that is kept for calls. */
  async listTools(): Promise<ListedTool[]> {
    const tools: ListedTool[] = []
    let cursor: string | undefined
    for (let page = 0; page < maxPages; page += 1) {
      const answer = await this.#client.listTools(cursor === undefined ? {} : { cursor }, { timeout: connectMs })
      for (const { name, description, inputSchema } of answer.tools)
        tools.push({ name, description: description ?? '', parameters: inputSchema as JsonObject })
      cursor = answer.nextCursor
      if (cursor === undefined) break
    }
    return tools
  }

  async callTool({ name, args, signal, timeoutMs }: McpCall): Promise<McpAnswer> {
    let result: CallToolResult
    try {
      const options = { signal, timeout: timeoutMs }
      result = (await this.#client.callTool({ name, arguments: { ...args } }, undefined, options)) as CallToolResult
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown))
      if (signal.aborted || !isTransportError(error)) return { outcome: 'failed', error }
      return { outcome: isLostSession(error) ? 'session lost' : 'unreachable', error }
    }
    const text = textOf(result)
    if (!result.isError) return { outcome: 'returned', text }
    return { outcome: 'failed', error: new Error(text === '' ? 'The tool failed without saying why.' : text) }
  }

  /** The session is ended too, where the server has one; one that is gone needs no goodbye. */
  async close(): Promise<void> {
    await Promise.race([
      this.#transport.terminateSession().catch(() => undefined),
      new Promise((resolve) => setTimeout(resolve, 1_000).unref()),
    ])
    await this.#client.close().catch(() => undefined)
  }
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

function isTransportError(error: Error): boolean {
  return !(error instanceof McpError) || error.code === ErrorCode.ConnectionClosed
}

function isLostSession(error: Error): boolean {
  if (!(error instanceof StreamableHTTPError)) return false
  return error.code === 404 || (error.code === 400 && /session|initiali[sz]ed/i.test(error.message))
}

function textOf(result: CallToolResult): string {
  const parts = result.content.map((part) => {
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
  return structured ? JSON.stringify(result.structuredContent) : parts.join('\n')
}
