import type { BuiltinTool } from '../domain/tools/builtin-tools.ts'
import { errorMessage } from '../util/error-message.ts'
import type { Json, JsonObject } from '../util/json.ts'
import type { CallContext } from './execution.ts'
import { isStandardSchema, parseWith, toJsonSchema, type OutputOf, type StandardSchema } from './standard-schema.ts'

/** What a tool's function gets in addition to its arguments. */
export interface ToolContext extends Omit<CallContext, 'callId'> {
  /** The same for every attempt at one call, and different for every call. */
  readonly idempotencyKey: string
  /** Aborted when the run is cancelled, the time is up or the server stops. */
  readonly signal: AbortSignal
  /** Header for the tool's own requests, so that they join the run's trace. Null if the run is not traced. */
  readonly traceparent: string | null
}

/** A returned string is the output itself. Any other value becomes JSON. The model reads the message of an error. */
export type ToolFunction<Arguments = JsonObject> = (args: Arguments, context: ToolContext) => unknown

/** A tool whose function is part of the server's own code. */
export interface ToolDefinition {
  readonly name: string
  /** Tells the model what the tool does. Empty by default. */
  readonly description?: string
  /** JSON Schema. */
  readonly parameters: JsonObject
  /** Whether calls need approval. Not used if `approvalCondition` is set. */
  readonly requiresApproval?: boolean
  /** JSON Schema: exactly the calls whose arguments satisfy it need approval. */
  readonly approvalCondition?: Json
  /** Time after which an undecided call is denied. */
  readonly approvalTimeoutMs?: number
  readonly parallel?: boolean
  readonly idempotent?: boolean
  readonly timeoutMs?: number
  readonly returnCharLimit?: number
  readonly tags?: readonly string[]
  readonly run: ToolFunction
}

/** A definition with a Standard Schema: the function gets the value that the schema has parsed. */
export interface StandardToolDefinition<Schema extends StandardSchema> extends Omit<
  ToolDefinition,
  'parameters' | 'run'
> {
  readonly parameters: Schema
  readonly run: ToolFunction<OutputOf<Schema>>
}

export function defineTool<Schema extends StandardSchema>(definition: StandardToolDefinition<Schema>): ToolDefinition
export function defineTool(definition: ToolDefinition): ToolDefinition
export function defineTool(definition: ToolDefinition | StandardToolDefinition<StandardSchema>): ToolDefinition {
  const { parameters } = definition
  if (!isStandardSchema(parameters)) return definition as ToolDefinition
  const run = definition.run as ToolFunction<unknown>
  return {
    ...definition,
    parameters: parametersOf(definition.name, parameters),
    run: async (args, context) => run(await parseWith(parameters, args), context),
  }
}

function parametersOf(name: string, schema: StandardSchema): JsonObject {
  try {
    return toJsonSchema(schema)
  } catch (error) {
    throw new Error(`The parameters of the tool ${name} cannot be used: ${errorMessage(error)}`, { cause: error })
  }
}

/** The functions of the tools that are registered in code, by name. */
export type ToolRegistry = ReadonlyMap<string, ToolFunction>

export function createToolRegistry(definitions: readonly ToolDefinition[]): ToolRegistry {
  return new Map(definitions.map((definition) => [definition.name, definition.run]))
}

/** A tool as it is stored, without its function. */
export function toBuiltinTool({ run: _run, ...tool }: ToolDefinition): BuiltinTool {
  const { description = '', parallel = false, idempotent = false } = tool
  return { ...tool, description, parallel, idempotent }
}
