import type { Actor } from '../domain/access/actor.ts'
import { approvalsOf } from '../domain/approvals/call-approvals.ts'
import { encodeId } from '../domain/ids.ts'
import type { JsonObject } from '../util/json.ts'
import type { Execution } from './execution.ts'

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
