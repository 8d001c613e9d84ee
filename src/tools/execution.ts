import type { Agent } from '../domain/agent.ts'
import type { BlockWrite } from '../domain/block.ts'
import type { DrivenRun } from '../domain/run-state.ts'
import type { Step } from '../domain/step.ts'
import type { ToolCall } from '../domain/tool-call.ts'
import type { Tool } from '../domain/tool.ts'

/** One call to be made, with what its tool may need to know. */
export interface Execution {
  readonly call: ToolCall
  /** Undefined where the agent has no such tool. */
  readonly tool: Tool | undefined
  readonly agent: Agent
  readonly run: DrivenRun
  readonly step: Step
  /** The versions of the blocks that the model was shown, by id, as far as they are known. */
  readonly seenBlocks: ReadonlyMap<string, number>
  readonly signal: AbortSignal
}

/** What a tool came to, before it is cut to its limit. */
export interface ToolOutput {
  readonly ok: boolean
  readonly output: string
  readonly stdout?: readonly string[]
  readonly stderr?: readonly string[]
  /** Something of it is gone already. */
  readonly truncated?: boolean
  /** What is to be stored with the result, in the same transaction. */
  readonly writes?: readonly BlockWrite[]
}
