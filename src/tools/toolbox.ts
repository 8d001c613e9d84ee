import type { Kysely } from 'kysely'

import type { ListedTool, ToolAccess } from '../domain/tools/tool-access.ts'
import type { BlockWrite } from '../domain/memory/block.ts'
import type { NewFile } from '../domain/files/file.ts'
import { encodeId, shownRunIds } from '../domain/ids.ts'
import type { ConfiguredMcpServer, McpServer } from '../domain/tools/mcp-server.ts'
import { callSpanId, traceOfRun } from '../domain/runs/run-trace.ts'
import { openHeaders } from '../domain/tools/sealed-headers.ts'
import type { ToolResult } from '../domain/tools/tool-call.ts'
import { truncateResult } from '../domain/tools/tool-output.ts'
import { toolDefaults, type SealedHeaders, type Tool, type ToolOfKind } from '../domain/tools/tool.ts'
import { findMcpServers, setMcpServerError } from '../store/mcp-servers.ts'
import type { Database } from '../store/database/schema.ts'
import { getSigningSecret } from '../store/access/tenants.ts'
import { isJsonObject, type Json, type JsonObject } from '../util/json.ts'
import { withDefaults } from '../util/schema-defaults.ts'
import { searchConversation } from './builtin/conversation-search.ts'
import { isMemoryTool, runMemoryTool } from './builtin/memory.ts'
import { callContextOf } from './call-context.ts'
import type { Execution, ToolOutput } from './execution.ts'
import { callHttpTool } from './http-tool.ts'
import type { McpAddress, McpCall } from './mcp-client.ts'
import { McpConnections, McpUnreachableError } from './mcp.ts'
import type { GuardedNetwork } from '../util/network-guard.ts'
import type { ToolRegistry } from './registry.ts'
import { contentOfValue, keepContent } from './returned-content.ts'
import { Sandbox } from './sandbox/sandbox.ts'
import { onAbort } from '../util/abort.ts'
import { errorMessage } from '../util/error-message.ts'
import type { Log } from '../util/log.ts'
import type { SecretBox } from '../util/secret-box.ts'
import { formatTraceparent } from '../util/trace-context.ts'

/** A script's time limit starts when it gets a thread, for which it waits at most as long again. */
const sandboxGraceMs = 3_000
/**
 * What loading a source may take when it is checked. The work is limited, not the time: a source is not refused because
 * the machine is busy. The time limit is for a source that the engine cannot interrupt.
 */
const loadLimits = { maxInterrupts: 10_000, limitMs: 60_000 }
/** Maximum length of a failed tool's message in the log. */
const shownChars = 300

export interface Executed {
  readonly result: ToolResult
  /** Block edits to store in the same transaction as the result. */
  readonly writes: readonly BlockWrite[]
  /** Files that the result refers to, to store in the same transaction. */
  readonly files: readonly NewFile[]
}

export interface ToolboxOptions {
  readonly db: Kysely<Database>
  /** Decrypts headers and signing secrets. */
  readonly secrets: SecretBox
  readonly registry: ToolRegistry
  readonly network: GuardedNetwork
  readonly log: Log
  /** Whether this process records traces. Defaults to false. */
  readonly traces?: boolean
  /** The largest file size in a result. */
  readonly maxFileBytes: number
  /** The MCP servers of the configuration file. */
  readonly mcpServers?: readonly ConfiguredMcpServer[]
}

/** Runs tools of every kind. It owns threads and connections, so it has to be closed. */
export class Toolbox implements ToolAccess {
  readonly #options: ToolboxOptions
  readonly #sandbox = new Sandbox()
  readonly #mcp: McpConnections

  constructor(options: ToolboxOptions) {
    this.#options = options
    this.#mcp = new McpConnections(options.network)
  }

  /** Runs one call. Never throws: every failure is an error result that the model reads. */
  async execute(execution: Execution): Promise<Executed> {
    const startedAt = performance.now()
    const output = await this.#attempt(execution)
    const durationMs = Math.round((performance.now() - startedAt) * 1000) / 1000
    const { ok, content, json, stdout = [], stderr = [], writes = [] } = output
    const kept = content && keepContent(content, this.#options.maxFileBytes)
    const limit = execution.tool?.returnCharLimit ?? toolDefaults.returnCharLimit
    const result = truncateResult(
      {
        status: ok ? 'SUCCESS' : 'ERROR',
        output: output.output,
        ...(kept && { content: kept.content }),
        ...(json !== undefined && { json }),
        stdout,
        stderr,
      },
      limit,
    )
    const truncated = Boolean(output.truncated) || Boolean(kept?.truncated) || result.truncated
    return { result: { ...result, truncated, durationMs }, writes, files: kept?.files ?? [] }
  }

  async faultOfJavaScript(source: string, tenantId: string): Promise<string | undefined> {
    const job = { source, argumentsText: null, ...loadLimits, charLimit: 2_000 }
    const { signal } = new AbortController()
    const { ok, output } = await this.#sandbox.run(job, { tenantId, signal })
    return ok ? undefined : output
  }

  async listMcpTools(server: Parameters<ToolAccess['listMcpTools']>[0]): Promise<ListedTool[]> {
    return this.#mcp.listTools(this.#addressOf(server))
  }

  /** May be called twice. */
  async close(): Promise<void> {
    await Promise.all([this.#sandbox.close(), this.#mcp.closeAll()])
    this.#options.network.close()
  }

  async #attempt(execution: Execution): Promise<ToolOutput> {
    const { call, tool } = execution
    const args = withDefaults(tool?.parameters, call.editedArguments ?? call.arguments)
    if (!tool || !isJsonObject(args)) return { ok: false, output: `${call.name} cannot be run here.` }
    const limitMs = tool.kind === 'JAVASCRIPT' ? 2 * tool.timeoutMs + sandboxGraceMs : tool.timeoutMs
    try {
      const output = await withinTime(execution.signal, limitMs, tool, (signal) =>
        this.#run(execution, tool, args, signal),
      )
      if (!output.ok) this.#logFailure(execution, tool, { reason: output.output.slice(0, shownChars) })
      return output
    } catch (error) {
      const output = errorMessage(error)
      // The stack shows where the owner's code failed. For other tools it would only show our own code.
      this.#logFailure(
        execution,
        tool,
        tool.kind === 'BUILTIN' ? { err: error } : { reason: output.slice(0, shownChars) },
      )
      return { ok: false, output }
    }
  }

  /** A tool that stopped because it was asked to has not failed. */
  #logFailure({ call, run, signal }: Execution, { kind, name: tool }: Tool, why: object): void {
    if (signal.aborted) return
    const facts = { ...shownRunIds(run), toolCallId: encodeId('ToolCall', call.id), tool, kind }
    this.#options.log.warn({ ...facts, ...why }, 'a tool failed')
  }

  async #run(execution: Execution, tool: Tool, args: JsonObject, signal: AbortSignal): Promise<ToolOutput> {
    const context = callContextOf(execution)
    const traceparent = this.#traceparentOf(execution)
    switch (tool.kind) {
      case 'BUILTIN':
        return this.#runBuiltin(execution, tool, args, signal)
      case 'JAVASCRIPT':
        return this.#runJavaScript(tool, args, signal)
      case 'HTTP': {
        const { db, secrets, network } = this.#options
        const secret = await getSigningSecret(db, secrets, tool.tenantId)
        const call = { args, secret, context, traceparent, signal }
        return callHttpTool(network, this.#opened(tool), call)
      }
      case 'MCP':
        return this.#callMcpTool(tool, { args, context, traceparent, signal })
      case 'CLIENT':
        throw new Error(`${tool.name} is run by the client.`)
      default:
        return tool satisfies never
    }
  }

  /** Decrypts its headers. */
  #opened<Owner extends { readonly tenantId: string; readonly headers: SealedHeaders }>(owner: Owner): Owner {
    return { ...owner, headers: openHeaders(this.#options.secrets, owner.headers, owner.tenantId) }
  }

  /** The span of the call, for requests made by the tool. */
  #traceparentOf({ run, call }: Execution): string | null {
    if (run.traceparent === null && !this.#options.traces) return null
    return formatTraceparent({ ...traceOfRun(run), spanId: callSpanId(call.id) })
  }

  /** How to reach a server of the configuration file is only in the file. The database knows its name. */
  #addressOf(server: Pick<McpServer, 'name' | 'url' | 'headers' | 'tenantId' | 'configured'>): McpAddress {
    if (!server.configured) return this.#opened(server)
    const configured = this.#options.mcpServers?.find(({ name }) => name === server.name)
    if (configured) return configured
    throw new McpUnreachableError(
      'It comes from the file HOLDPOINT_MCP, but the file of this process does not have it.',
    )
  }

  async #runBuiltin(execution: Execution, { name }: Tool, args: JsonObject, signal: AbortSignal): Promise<ToolOutput> {
    const { db, registry } = this.#options
    if (isMemoryTool(name)) return runMemoryTool(db, name, args, execution)
    if (name === 'conversation_search') return searchConversation(db, args, execution)
    const run = registry.get(name)
    if (!run) throw new Error(`This server no longer has a function for ${name}.`)
    const { callId: idempotencyKey, ...context } = callContextOf(execution)
    const traceparent = this.#traceparentOf(execution)
    const value = await run(args, { ...context, idempotencyKey, traceparent, signal })
    if (typeof value === 'string') return { ok: true, output: value }
    const content = contentOfValue(value)
    if (content) return { ok: true, output: '', ...content }
    // Undefined for a function and a symbol.
    const output = JSON.stringify(value ?? null) as string | undefined
    if (output === undefined) throw new Error(`The tool returned a ${typeof value}, which is not JSON.`)
    return { ok: true, output }
  }

  async #runJavaScript(tool: ToolOfKind<'JAVASCRIPT'>, args: JsonObject, signal: AbortSignal): Promise<ToolOutput> {
    const { ok, output, isContent, stdout, stderr, printedMore, late } = await this.#sandbox.run(
      {
        source: tool.source,
        argumentsText: JSON.stringify(args),
        limitMs: tool.timeoutMs,
        charLimit: tool.returnCharLimit,
        contentLimit: 2 * this.#options.maxFileBytes,
      },
      { tenantId: tool.tenantId, signal },
    )
    const content = isContent ? contentOfValue(JSON.parse(output) as Json) : undefined
    return { ok, output: late ? lateText(tool) : output, ...content, stdout, stderr, truncated: printedMore }
  }

  async #callMcpTool(tool: ToolOfKind<'MCP'>, call: Omit<McpCall, 'name' | 'timeoutMs'>): Promise<ToolOutput> {
    const { db } = this.#options
    const [server] = await findMcpServers(db, tool, [tool.mcpServerId])
    if (!server) throw new Error(`The MCP server of ${tool.name} was removed.`)
    try {
      const name = tool.mcpToolName
      const output = await this.#mcp.callTool(server.id, this.#addressOf(server), {
        ...call,
        name,
        timeoutMs: tool.timeoutMs,
      })
      if (server.lastError !== null) await setMcpServerError(db, server.id, null)
      return output
    } catch (error) {
      if (!(error instanceof McpUnreachableError)) throw error
      await setMcpServerError(db, server.id, error.message)
      throw new Error(`The MCP server ${server.name} cannot be reached: ${error.message}`, { cause: error })
    }
  }
}

function lateText({ name, timeoutMs }: Tool): string {
  return `${name} did not finish within ${timeoutMs} ms.`
}

/** Runs `work` with a signal that is also aborted when the time is up. Work that ignores the signal is abandoned. */
async function withinTime<T>(
  outer: AbortSignal,
  limitMs: number,
  tool: Tool,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    const error = new Error(lateText(tool))
    reject(error)
    controller.abort(error)
  }, limitMs)
  const stopListening = onAbort(outer, (reason) => controller.abort(reason))
  try {
    return await Promise.race([work(controller.signal), late])
  } finally {
    clearTimeout(timer)
    stopListening()
  }
}
