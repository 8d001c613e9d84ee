import { encodeId } from '../domain/ids.ts'
import type { ToolCall, ToolResult } from '../domain/tool-call.ts'
import { truncateResult } from '../domain/tool-output.ts'
import { toolDefaults, type AgentTool, type Tool } from '../domain/tool.ts'
import { checkSchema } from '../util/json-schema.ts'
import { isJsonObject, type JsonObject } from '../util/json.ts'
import type { ToolRegistry } from './registry.ts'

export interface Execution {
  readonly call: ToolCall
  /** Undefined where the agent has no such tool. */
  readonly agentTool: AgentTool | undefined
  /** The names of the tools that the agent has, to tell a model that named another. */
  readonly toolNames: readonly string[]
  readonly agentId: string
  readonly signal: AbortSignal
}

/** Runs one call. Whatever goes wrong is a result that the model reads: this never throws. */
export async function executeTool(registry: ToolRegistry, execution: Execution): Promise<ToolResult> {
  const { call, agentTool, toolNames } = execution
  const startedAt = performance.now()
  const result = await attempt()
  return { ...result, durationMs: Math.round((performance.now() - startedAt) * 1000) / 1000 }

  async function attempt(): Promise<Omit<ToolResult, 'durationMs'>> {
    if (!agentTool) {
      const known = toolNames.length > 0 ? `The tools are: ${toolNames.join(', ')}.` : 'There are no tools.'
      return failed(`There is no tool named ${call.name}. ${known}`)
    }
    const args = call.editedArguments ?? call.arguments
    if (!isJsonObject(args)) {
      return failed(
        `The arguments of ${call.name} are not a JSON object. They were: ${call.argumentsText.slice(0, 500)}`,
      )
    }
    const problems = checkSchema(agentTool.tool.parameters, args)
    if (problems.length > 0) {
      const list = problems.map(({ path, message }) => `${path || 'arguments'} ${message}`).join('; ')
      return failed(`The arguments of ${call.name} don't fit its parameters: ${list}.`)
    }
    try {
      return succeeded(await invoke(registry, agentTool.tool, args, execution), agentTool.tool.returnCharLimit)
    } catch (error) {
      return failed(error instanceof Error ? error.message : String(error))
    }
  }
}

async function invoke(registry: ToolRegistry, tool: Tool, args: JsonObject, execution: Execution): Promise<unknown> {
  const run = tool.kind === 'BUILTIN' ? registry.get(tool.name) : undefined
  if (!run)
    throw new Error(
      `This server cannot run ${tool.name}: tools of kind ${tool.kind} are not implemented in this version.`,
    )
  const timeout = AbortSignal.timeout(tool.timeoutMs)
  const signal = AbortSignal.any([execution.signal, timeout])
  const late = new Promise<never>((_resolve, reject) => {
    timeout.addEventListener('abort', () =>
      reject(new Error(`${tool.name} did not finish within ${tool.timeoutMs} ms.`)),
    )
  })
  return Promise.race([
    late,
    Promise.resolve(
      run(args, {
        idempotencyKey: encodeId('ToolCall', execution.call.id),
        runId: encodeId('Run', execution.call.runId),
        agentId: encodeId('Agent', execution.agentId),
        signal,
      }),
    ),
  ])
}

/** A string is returned as it is, any other value as JSON. */
function succeeded(value: unknown, charLimit: number): Omit<ToolResult, 'durationMs'> {
  const output = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'null')
  return truncateResult({ status: 'SUCCESS', output, stdout: [], stderr: [] }, charLimit)
}

function failed(output: string): Omit<ToolResult, 'durationMs'> {
  return truncateResult({ status: 'ERROR', output, stdout: [], stderr: [] }, toolDefaults.returnCharLimit)
}
