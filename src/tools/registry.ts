import type { Json, JsonObject } from '../util/json.ts'
import type { CallContext } from './call-context.ts'
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
  readonly description: string
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
    parameters: toJsonSchema(parameters),
    run: async (args, context) => run(await parseWith(parameters, args), context),
  }
}

/** The functions of the tools that are registered in code, by name. */
export type ToolRegistry = ReadonlyMap<string, ToolFunction>

export function createToolRegistry(definitions: readonly ToolDefinition[]): ToolRegistry {
  return new Map(definitions.map((definition) => [definition.name, definition.run]))
}
