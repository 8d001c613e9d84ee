import type { JsonObject } from '../util/json.ts'

/** What a tool's function is given beside its arguments. */
export interface ToolContext {
  /** The same for every attempt at one call, and for no other call. */
  readonly idempotencyKey: string
  readonly runId: string
  readonly agentId: string
  /** Aborted when the run is cancelled, the time is up or the server stops. */
  readonly signal: AbortSignal
}

export type ToolFunction = (args: JsonObject, context: ToolContext) => Promise<unknown> | unknown

/** A tool whose function is part of the server's own code. */
export interface ToolDefinition {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
  readonly requiresApproval?: boolean
  readonly parallel?: boolean
  readonly idempotent?: boolean
  readonly timeoutMs?: number
  readonly returnCharLimit?: number
  readonly run: ToolFunction
}

/** Checks nothing: it is there so that an editor knows what a tool may say. */
export function defineTool(definition: ToolDefinition): ToolDefinition {
  return definition
}

/** The functions of the tools of kind BUILTIN, by name. */
export type ToolRegistry = ReadonlyMap<string, ToolFunction>

export function createToolRegistry(definitions: readonly ToolDefinition[]): ToolRegistry {
  return new Map(definitions.map((definition) => [definition.name, definition.run]))
}
