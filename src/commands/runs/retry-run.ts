import { retryObstacle } from '../../domain/runs/retry-obstacle.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import { changeRun } from '../../live/change-run.ts'
import { getRetryConversation, reopenRun } from '../../store/runs/reopen-run.ts'
import { findRuns } from '../../store/runs/runs.ts'
import { uncountRun } from '../../store/usage/count-runs.ts'
import { transact } from '../../store/database/transact.ts'
import type { CommandContext } from '../command-context.ts'
import { found, foundOne } from '../found.ts'
import { recordAct } from '../record-change.ts'

export type RetryRunOutcome =
  | { readonly outcome: 'accepted'; readonly runId: string }
  | { readonly outcome: 'not retryable'; readonly runId: string; readonly message: string }
  | { readonly outcome: 'busy'; readonly runId: string }

/** Continues a failed run from its last stored step. Its input returns to the context. */
export async function retryRun(
  context: CommandContext,
  viewer: Viewer,
  { runId }: { readonly runId: string },
): Promise<RetryRunOutcome> {
  await foundOne('Run', runId, findRuns(context.db, viewer, [runId]))

  const outcome = await transact(context, (trx, afterCommit) =>
    changeRun(context, { trx, afterCommit }, runId, async (draft): Promise<RetryRunOutcome> => {
      const { run: stored } = draft.state
      const conversation = await getRetryConversation(trx, stored.conversationId)
      const obstacle = retryObstacle(stored, conversation)
      if (obstacle?.type === 'busy') return { outcome: 'busy', runId: obstacle.activeRunId }
      if (obstacle) return { outcome: 'not retryable', runId, message: obstacle.message }

      await uncountRun(trx, runId)
      await reopenRun(trx, runId)
      draft.setStatus('QUEUED')
      draft.changeRun({
        finishedAt: null,
        cancelRequestedAt: null,
        // Other branches may have grown since, so the run's new messages come after all existing ones.
        nextPosition: stored.nextPosition === null ? null : conversation.nextPosition,
      })
      await recordAct(context, trx, viewer, { action: 'retryRun', subject: ['Run', runId] })
      return { outcome: 'accepted', runId }
    }),
  )
  return found('Run', runId, outcome)
}
