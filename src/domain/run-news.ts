import type { Checkpoint } from './draft.ts'
import type { RunStatus } from './run.ts'

/** That something of a run changed, for who watches its conversation or its tenant: where to look, not what to see. */
export interface RunNews {
  /** Null: no single run, but which branch of the conversation is current. */
  readonly runId: string | null
  readonly conversationId: string
  readonly tenantId: string
  /** The status it has now, where that changed. */
  readonly status: RunStatus | null
  /** Whether calls began or ceased to wait. */
  readonly calls: boolean
}

export function newsOf({ after, entries, newCalls, changedCalls }: Checkpoint): RunNews {
  const waited =
    newCalls.some((call) => call.status === 'PENDING') || changedCalls.some((call) => call.needs !== 'NOTHING')
  return {
    runId: after.id,
    conversationId: after.conversationId,
    tenantId: after.tenantId,
    status: entries.some((entry) => entry.type === 'status') ? after.status : null,
    calls: waited,
  }
}
