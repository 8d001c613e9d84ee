import { AsyncLocalStorage } from 'node:async_hooks'
import { Readable } from 'node:stream'

import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport, StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { jsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/types.js'
import { ErrorCode, McpError, type CallToolResult, type Progress } from '@modelcontextprotocol/sdk/types.js'

import type { ConfiguredMcpServer } from '../domain/tools/mcp-server.ts'
import type { ListedTool } from '../domain/tools/tool-access.ts'
import { textOf } from '../domain/conversations/content.ts'
import { mediaTypeOf } from '../domain/files/media-type.ts'
import { errorMessage } from '../util/error-message.ts'
import type { ToolCallProgress } from '../domain/tools/tool-call.ts'
import { cutText, isJsonObject, storableText, type JsonObject } from '../util/json.ts'
import type { CallContext, ToolOutput } from './execution.ts'
import { tokensFor, type McpTokens } from './mcp-tokens.ts'
import type { GuardedNetwork } from '../util/network-guard.ts'
import type { ReturnedPart } from './returned-content.ts'

const connectMs = 10_000
const maxPages = 20
const maxTools = 1_000
/** The protocol recommends at most 128. */
const maxToolName = 500
const maxAnswerBytes = 20 * 1024 ** 2

/** The key of `_meta` that tells a server on whose behalf a tool is called. */
const contextKey = 'holdpoint/context'

export interface McpCall {
  readonly name: string
  readonly args: JsonObject
  readonly context: CallContext
  /** Null if the run is not traced. */
  readonly traceparent?: string | null
  readonly signal: AbortSignal
  readonly timeoutMs: number
  readonly onProgress?: ((progress: ToolCallProgress) => void) | undefined
}

/** A call that waits for its answer, for the stream that would deliver it. */
interface WaitingCall {
  /** The answer can no longer arrive. */
  readonly fail: (error: Error) => void
}

export type McpAnswer =
  | { readonly outcome: 'returned'; readonly output: ToolOutput }
  /** The call was refused, or told to stop. */
  | { readonly outcome: 'failed'; readonly error: Error }
  /** The server has forgotten the session and has not run the call. */
  | { readonly outcome: 'session lost'; readonly error: Error }
  | { readonly outcome: 'unreachable'; readonly error: Error }

/** The SDK would compile the output schemas of all tools on this thread, and nothing uses them. */
const noValidator: jsonSchemaValidator = {
  getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
}

/** The server went away while a call waited for its answer. Whether the call took effect is unknown. */
class ConnectionLostError extends Error {
  constructor(reason: string) {
    super(`The connection was lost while the call was running: ${reason}`)
    this.name = 'ConnectionLostError'
  }
}

/** A stream that ends without an error may still hold the answer, which is read a moment later. */
const answerGraceMs = 1_000

/** How to reach a server: a URL, or a program to start. */
export type McpAddress = Pick<ConfiguredMcpServer, 'url' | 'headers'> &
  Partial<Pick<ConfiguredMcpServer, 'launch' | 'oauth'>>

/** A connection to one Model Context Protocol server: over streamable HTTP, or to a program that was started. */
export class McpClient {
  readonly #client = new Client({ name: 'holdpoint', version: '1' }, { jsonSchemaValidator: noValidator })
  readonly #transport: StreamableHTTPClientTransport | StdioClientTransport
  readonly #waiting = new Set<WaitingCall>()
  /** The call on whose behalf a request is made. */
  readonly #call = new AsyncLocalStorage<WaitingCall>()

  private constructor(network: GuardedNetwork, { url, headers, launch, oauth }: McpAddress, tokens: McpTokens) {
    // A program gets the variables that every program needs and those of the file, but not the server's own secrets.
    this.#transport = launch
      ? new StdioClientTransport({ ...launch, args: [...launch.args], env: { ...launch.env }, stderr: 'ignore' })
      : new StreamableHTTPClientTransport(new URL(url), {
          requestInit: { headers },
          fetch: async (target, init) => this.#watched(await network.fetch(target, init)),
          ...(oauth && { authProvider: tokensFor(tokens, oauth) }),
        })
    // The SDK reconnects to streams that can be resumed, but does not tell the waiting calls when it gives up.
    const onerror = (error: Error) => {
      if (!error.message.includes('Maximum reconnection attempts')) return
      for (const { fail } of this.#waiting) fail(new ConnectionLostError(error.message))
    }
    Object.assign(this.#client, { onerror })
  }

  static async connect(network: GuardedNetwork, server: McpAddress, tokens: McpTokens): Promise<McpClient> {
    const opened = new McpClient(network, server, tokens)
    try {
      await opened.#client.connect(opened.#transport, { timeout: connectMs })
      return opened
    } catch (error) {
      await opened.close()
      throw error
    }
  }

  /** The response with a limited body. Once this stream has broken, the SDK would let a call wait until its timeout. */
  #watched(response: Response): Response {
    const call = this.#call.getStore()
    const { body, status, statusText, headers } = response
    if (!body) return response
    const read = async function* (): AsyncGenerator<Uint8Array, void> {
      let left = maxAnswerBytes
      let resumable = false
      try {
        for await (const chunk of body) {
          left -= chunk.length
          if (left < 0) throw new Error('The server answered with more than 20 MB.')
          resumable ||= /^id:/m.test(Buffer.from(chunk).toString('latin1'))
          yield chunk
        }
      } catch (error) {
        if (!resumable) call?.fail(new ConnectionLostError(errorMessage(error)))
        throw error
      }
      const ended = () => call?.fail(new ConnectionLostError('The server closed the stream without an answer.'))
      if (call && !resumable) setTimeout(ended, answerGraceMs).unref()
    }
    const readable = Readable.toWeb(Readable.from(read())) as ReadableStream<Uint8Array<ArrayBuffer>>
    return new Response(readable, { status, statusText, headers })
  }

  /** The SDK's client caches the list, so this must not be called on a client that is kept for calls. */
  async listTools(): Promise<ListedTool[]> {
    const tools: ListedTool[] = []
    let cursor: string | undefined
    for (let page = 0; page < maxPages; page += 1) {
      const answer = await this.#client.listTools(cursor === undefined ? {} : { cursor }, { timeout: connectMs })
      for (const { name, description, inputSchema, execution } of answer.tools) {
        // A tool that runs only as a task cannot be called with a single request.
        if (execution?.taskSupport === 'required') continue
        // A tool is called by its name, which is therefore stored as it is or not at all.
        if (name.length > maxToolName || name !== storableText(name)) continue
        tools.push({ name, description: description ?? '', parameters: inputSchema as JsonObject })
        if (tools.length === maxTools) return tools
      }
      cursor = answer.nextCursor
      if (cursor === undefined) break
    }
    return tools
  }

  async callTool({ name, args, context, traceparent, signal, timeoutMs, onProgress }: McpCall): Promise<McpAnswer> {
    const lost = Promise.withResolvers<never>()
    const call: WaitingCall = { fail: lost.reject }
    lost.promise.catch(() => undefined)
    this.#waiting.add(call)
    let result: CallToolResult
    try {
      const answer = this.#call.run(call, () =>
        this.#client.callTool(
          { name, arguments: { ...args }, _meta: { [contextKey]: context, ...(traceparent ? { traceparent } : {}) } },
          undefined,
          {
            signal,
            timeout: timeoutMs,
            ...(onProgress && {
              onprogress: (reported) => Number.isFinite(reported.progress) && onProgress(toProgress(reported)),
            }),
          },
        ),
      )
      answer.catch(() => undefined)
      result = (await Promise.race([answer, lost.promise])) as CallToolResult
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown))
      if (signal.aborted || !isTransportError(error)) return { outcome: 'failed', error }
      return { outcome: isLostSession(error) ? 'session lost' : 'unreachable', error }
    } finally {
      this.#waiting.delete(call)
    }
    return { outcome: 'returned', output: toOutput(result) }
  }

  /** Also ends the session, if the server has one and still answers. */
  async close(): Promise<void> {
    if (this.#transport instanceof StreamableHTTPClientTransport) {
      await Promise.race([
        this.#transport.terminateSession().catch(() => undefined),
        new Promise((resolve) => setTimeout(resolve, 1_000).unref()),
      ])
    }
    await this.#client.close().catch(() => undefined)
  }
}

function toProgress({ progress, total, message }: Progress): ToolCallProgress {
  return {
    progress,
    total: total !== undefined && Number.isFinite(total) ? total : null,
    message: message === undefined ? null : cutText(storableText(message), 500),
  }
}

function isTransportError(error: Error): boolean {
  return !(error instanceof McpError) || error.code === ErrorCode.ConnectionClosed
}

function isLostSession(error: Error): boolean {
  if (!(error instanceof StreamableHTTPError)) return false
  return error.code === 404 || (error.code === 400 && /session|initiali[sz]ed/i.test(error.message))
}

/** Text, images, audio and embedded resources, and the structured result. */
function toOutput({ content, structuredContent, isError }: CallToolResult): ToolOutput {
  const parts = content.map(toPart)
  const json = isJsonObject(structuredContent) ? structuredContent : undefined
  const text = textOf(parts)
  const output = parts.length === 0 && json ? JSON.stringify(json) : text
  const isText = parts.every((part) => 'text' in part)
  return {
    ok: !isError,
    output: isError && isText && output === '' ? 'The tool failed without saying why.' : output,
    ...(!isText && { content: parts }),
    ...(json && { json }),
  }
}

function toPart(part: CallToolResult['content'][number]): ReturnedPart {
  switch (part.type) {
    case 'text':
      return { text: part.text }
    case 'image':
    case 'audio':
      return ofBase64(part.data, part.mimeType, null)
    case 'resource': {
      const { resource } = part
      if ('text' in resource) return { text: resource.text }
      return ofBase64(resource.blob, resource.mimeType ?? 'application/octet-stream', nameOf(resource.uri))
    }
    case 'resource_link':
      return { text: `[resource ${part.uri}]` }
    default:
      return part satisfies never
  }
}

function ofBase64(base64: string, mediaType: string, name: string | null): ReturnedPart {
  const bytes = Buffer.from(base64, 'base64')
  return bytes.length === 0 ? { text: `[empty file of type ${mediaTypeOf(mediaType)}]` } : { bytes, mediaType, name }
}

/** The last part of the path in a resource's address. */
function nameOf(uri: string): string | null {
  return (
    uri
      .replace(/[?#].*/s, '')
      .split('/')
      .at(-1) || null
  )
}
