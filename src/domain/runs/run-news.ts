import type { Checkpoint } from './draft.ts'
import type { RunStatus } from './run.ts'

/**
 * Tells those who watch a run's conversation or tenant that the run changed. It says where to look, not what changed.
 */
export interface RunNews {
  /** Null if no single run changed, but the conversation's current branch. */
  readonly runId: string | null
  readonly conversationId: string
  readonly tenantId: string
  /** The new status, if it changed. */
  readonly status: RunStatus | null
  /** Whether calls started or stopped waiting. */
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
