import { defaultsTooLarge } from '../domain/tools/call-check.ts'
import { settingsOfListed } from '../domain/tools/mcp-tools.ts'
import type { ListedTool, ToolAccess } from '../domain/tools/tool-access.ts'
import type { BlockWrite } from '../domain/memory/block.ts'
import type { ArchiveWrite } from '../domain/memory/passage.ts'
import type { NewFile } from '../domain/files/file.ts'
import { encodeId, shownRunIds } from '../domain/ids.ts'
import type { ConfiguredMcpServer, McpServer } from '../domain/tools/mcp-server.ts'
import { callSpanId, traceOfRun } from '../domain/runs/run-trace.ts'
import { openHeaders } from '../domain/tools/sealed-headers.ts'
import type { ToolResult } from '../domain/tools/tool-call.ts'
import { truncateResult } from '../domain/tools/tool-output.ts'
import { toolDefaults, type SealedHeaders, type Tool, type ToolOfKind } from '../domain/tools/tool.ts'
import { findMcpServers, setMcpServerError } from '../store/tools/mcp-servers.ts'
import type { Db } from '../store/database/schema.ts'
import { getSigningSecret } from '../store/access/tenants.ts'
import { isJsonObject, parseJson, type JsonObject } from '../util/json.ts'
import { judged } from '../util/json-schema.ts'
import { withDefaults } from '../util/schema-defaults.ts'
import type { EmbedQuery } from '../store/memory/search-passages.ts'
import { insertIntoArchive, searchArchive } from './builtin/archive.ts'
import { searchConversation } from './builtin/conversation-search.ts'
import { isMemoryTool, runMemoryTool } from './builtin/memory.ts'
import { callContextOf, type Execution, type ToolOutput } from './execution.ts'
import { callHttpTool } from './http-tool.ts'
import type { McpAddress, McpCall } from './mcp-client.ts'
import { McpConnections, McpUnreachableError } from './mcp.ts'
import { toldToOperators, type GuardedNetwork } from '../util/network-guard.ts'
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
/** What checking the schemas of an MCP server's tools may take in all. */
const listMs = 10_000
/** Maximum length of a failed tool's message in the log. */
const shownChars = 300

export interface Executed {
  readonly result: ToolResult
  /** Block edits to store in the same transaction as the result. */
  readonly writes: readonly BlockWrite[]
  /** Passages to store in the same transaction as the result. */
  readonly passages: readonly ArchiveWrite[]
  /** Files that the result refers to, to store in the same transaction. */
  readonly files: readonly NewFile[]
}

export interface ToolboxOptions {
  readonly db: Db
  /** Decrypts headers and signing secrets. */
  readonly secrets: SecretBox
  readonly registry: ToolRegistry
  readonly network: GuardedNetwork
  readonly log: Log
  /** Whether this process records traces. Defaults to false. */
  readonly traces?: boolean
  /** The largest file size in a result. */
  readonly maxFileBytes: number
  /** Embeds what a search of an archive asks for. Undefined if the model does not answer now. */
  readonly embedQuery: EmbedQuery
  /** How many bytes of files and passages a tenant may have. Undefined: any number. */
  readonly tenantStorageBytes?: number | undefined
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
    const { result, ...rest } = await this.#attempt(execution)
    const durationMs = Math.round((performance.now() - startedAt) * 1000) / 1000
    return { result: { ...result, durationMs }, ...rest }
  }

  /** What is stored of an output. Everything that a tool says goes through here. */
  #keep(output: ToolOutput, tool: Tool | undefined): Executed {
    const { ok, content, json, stdout = [], stderr = [], writes = [], passages = [] } = output
    const kept = content && keepContent(content, this.#options.maxFileBytes)
    const result = truncateResult(
      {
        status: ok ? 'SUCCESS' : 'ERROR',
        output: output.output,
        ...(kept && { content: kept.content }),
        ...(json !== undefined && { json }),
        stdout,
        stderr,
      },
      tool?.returnCharLimit ?? toolDefaults.returnCharLimit,
    )
    const truncated = Boolean(output.truncated) || Boolean(kept?.truncated) || result.truncated
    return { result: { ...result, truncated, durationMs: null }, writes, passages, files: kept?.files ?? [] }
  }

  async faultOfJavaScript(source: string, tenantId: string): Promise<string | undefined> {
    const job = { source, argumentsText: null, ...loadLimits, charLimit: 2_000 }
    const { signal } = new AbortController()
    const { ok, output } = await this.#sandbox.run(job, { tenantId, signal })
    return ok ? undefined : output
  }

  async faultOfAddress(url: string): Promise<string | undefined> {
    const refusal = await this.#options.network.refusalOf(url)
    return refusal && toldToOperators(refusal)
  }

  async listMcpTools(server: Parameters<ToolAccess['listMcpTools']>[0]): Promise<ListedTool[]> {
    try {
      const listed = await this.#mcp.listTools(this.#addressOf(server))
      return await usableTools(server.tenantId, listed)
    } catch (error) {
      throw new Error(toldToOperators(error), { cause: error })
    }
  }

  /** May be called twice. */
  async close(): Promise<void> {
    await Promise.all([this.#sandbox.close(), this.#mcp.closeAll()])
    this.#options.network.close()
  }

  async #attempt(execution: Execution): Promise<Executed> {
    const { call, tool } = execution
    const args = withDefaults(tool?.parameters, call.editedArguments ?? call.arguments)
    if (args === undefined)
      return this.#keep({ ok: false, output: `The arguments of ${call.name} ${defaultsTooLarge}.` }, tool)
    if (!tool || !isJsonObject(args)) return this.#keep({ ok: false, output: `${call.name} cannot be run here.` }, tool)
    const limitMs = tool.kind === 'JAVASCRIPT' ? 2 * tool.timeoutMs + sandboxGraceMs : tool.timeoutMs
    try {
      const output = await withinTime(execution.signal, limitMs, tool, (signal) =>
        this.#run(execution, tool, args, signal),
      )
      if (!output.ok) this.#logFailure(execution, tool, { reason: output.output.slice(0, shownChars) })
      return this.#keep(output, tool)
    } catch (error) {
      // The stack shows where the owner's code failed. For other tools it would only show our own code.
      this.#logFailure(
        execution,
        tool,
        tool.kind === 'BUILTIN' ? { err: error } : { reason: toldToOperators(error).slice(0, shownChars) },
      )
      return this.#keep({ ok: false, output: errorMessage(error) }, tool)
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
        return this.#callMcpTool(tool, { args, context, traceparent, signal, onProgress: execution.onProgress })
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
    const { db, registry, embedQuery, tenantStorageBytes } = this.#options
    if (isMemoryTool(name)) return runMemoryTool(db, name, args, execution)
    if (name === 'archival_memory_insert') return insertIntoArchive(db, args, execution, tenantStorageBytes)
    if (name === 'archival_memory_search') return searchArchive(db, args, execution, embedQuery)
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
    const content = isContent ? contentOfValue(parseJson(output)) : undefined
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
      if (server.lastError !== null) await this.#noteMcpError(server, null)
      return output
    } catch (error) {
      if (!(error instanceof McpUnreachableError)) throw error
      await this.#noteMcpError(server, toldToOperators(error))
      throw new Error(`The MCP server ${server.name} cannot be reached: ${error.message}`, { cause: error })
    }
  }

  /** A failure is only logged, because what the server has answered must not be lost over it. */
  async #noteMcpError({ id, name }: McpServer, lastError: string | null): Promise<void> {
    const { db, log } = this.#options
    await setMcpServerError(db, id, lastError).catch((error: unknown) =>
      log.warn({ err: error, mcpServer: name }, 'the state of an MCP server could not be stored'),
    )
  }
}

/** With what can be stored of each tool. Schemas that take too long together are not looked at any more. */
async function usableTools(tenantId: string, listed: readonly ListedTool[]): Promise<ListedTool[]> {
  const deadline = performance.now() + listMs
  const usable: ListedTool[] = []
  for (const tool of listed) {
    const given = performance.now() < deadline ? tool : { ...tool, parameters: { type: 'object' } }
    usable.push({ ...tool, ...(await judged(tenantId, () => settingsOfListed(given))) })
  }
  return usable
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
