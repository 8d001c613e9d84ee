import type { Agent } from '../domain/agent.ts'
import type { BlockWrite } from '../domain/memory/block.ts'
import type { DrivenRun } from '../domain/runs/run-state.ts'
import type { Step } from '../domain/runs/step.ts'
import type { ToolCall } from '../domain/tools/tool-call.ts'
import type { Tool } from '../domain/tools/tool.ts'
import type { Json } from '../util/json.ts'
import type { ReturnedPart } from './returned-content.ts'

/** A call to run, with everything that its tool may need. */
export interface Execution {
  readonly call: ToolCall
  /** Undefined if the agent has no such tool. */
  readonly tool: Tool | undefined
  readonly agent: Agent
  readonly run: DrivenRun
  readonly step: Step
  /** Versions of the blocks that the model was shown, by id. May be incomplete. */
  readonly seenBlocks: ReadonlyMap<string, number>
  readonly signal: AbortSignal
}

/** The result of a tool before it is cut to the tool's limit. */
export interface ToolOutput {
  readonly ok: boolean
  /** The text of the result. */
  readonly output: string
  /** All parts, in order, if some are not text. `output` is not used then. */
  readonly content?: readonly ReturnedPart[]
  /** The structured result, if the tool has one. */
  readonly json?: Json
  readonly stdout?: readonly string[]
  readonly stderr?: readonly string[]
  /** Part of the output has already been cut. */
  readonly truncated?: boolean
  /** Block edits to store in the same transaction as the result. */
  readonly writes?: readonly BlockWrite[]
}
