import type { Agent } from '../domain/agents/agent.ts'
import type { BlockWrite } from '../domain/memory/block.ts'
import type { ArchiveWrite } from '../domain/memory/passage.ts'
import type { DrivenRun } from '../domain/runs/run-state.ts'
import type { Step } from '../domain/runs/step.ts'
import type { ToolCall, ToolCallProgress } from '../domain/tools/tool-call.ts'
import type { Tool } from '../domain/tools/tool.ts'
import type { Json, JsonObject } from '../util/json.ts'
import type { ReturnedPart } from './returned-content.ts'
import type { Actor } from '../domain/access/actor.ts'
import { approvalsOf } from '../domain/approvals/call-approvals.ts'
import { encodeId } from '../domain/ids.ts'

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
  /** Called with what the tool reports while it runs, as often as it reports. */
  readonly onProgress?: (progress: ToolCallProgress) => void
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
  /** Passages to store in the same transaction as the result. */
  readonly passages?: readonly ArchiveWrite[]
}

/** On whose behalf a tool acts. Every tool outside the sandbox gets it in this form. */
export interface CallContext {
  /** Id of the tool call. Every attempt at the call has the same id. */
  readonly callId: string
  readonly runId: string
  readonly agentId: string
  readonly conversationId: string
  /** What the client attached to the run. */
  readonly metadata: JsonObject
  /** Who started the run. Null for background runs. */
  readonly sentBy: Actor | null
  /** Who approved the call, oldest first. Empty if it needed no approval. */
  readonly approvedBy: readonly Actor[]
}

export function callContextOf({ call, run, agent }: Pick<Execution, 'call' | 'run' | 'agent'>): CallContext {
  return {
    callId: encodeId('ToolCall', call.id),
    runId: encodeId('Run', run.id),
    agentId: encodeId('Agent', agent.id),
    conversationId: encodeId('Conversation', run.conversationId),
    metadata: run.metadata,
    sentBy: run.sentBy,
    approvedBy: approvalsOf(call).map(({ actor }) => actor),
  }
}
