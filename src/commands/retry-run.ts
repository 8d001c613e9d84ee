import { Draft } from '../domain/runs/draft.ts'
import { notFound } from '../domain/errors.ts'
import { encodeId } from '../domain/ids.ts'
import { retryObstacle } from '../domain/runs/retry-obstacle.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import { announceCheckpoint } from '../live/announce.ts'
import { writeCheckpoint } from '../store/checkpoint.ts'
import { loadRun } from '../store/runs/load-run.ts'
import { lockRun } from '../store/runs/lock-run.ts'
import { getRetryConversation, reopenRun } from '../store/runs/reopen-run.ts'
import { findRuns } from '../store/runs/runs.ts'
import { transact } from '../store/transact.ts'
import type { CommandContext } from './command-context.ts'
import { recordAct } from './record-change.ts'

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
  const [run] = await findRuns(context.db, viewer, [runId])
  if (!run) throw notFound('run', encodeId('Run', runId))

  return transact(context, async (trx, afterCommit): Promise<RetryRunOutcome> => {
    await lockRun(trx, runId)
    const loaded = await loadRun(trx, runId)
    if (!loaded) throw notFound('run', encodeId('Run', runId))
    const { run: stored } = loaded.state
    const conversation = await getRetryConversation(trx, stored.conversationId)
    const obstacle = retryObstacle(stored, conversation)
    if (obstacle?.type === 'busy') return { outcome: 'busy', runId: obstacle.activeRunId }
    if (obstacle) return { outcome: 'not retryable', runId, message: obstacle.message }

    await reopenRun(trx, runId)
    const draft = new Draft(loaded.state, context)
    draft.setStatus('QUEUED')
    draft.changeRun({
      finishedAt: null,
      cancelRequestedAt: null,
      // Other branches may have grown since, so the run's new messages come after all existing ones.
      nextPosition: stored.nextPosition === null ? null : conversation.nextPosition,
    })
    const checkpoint = draft.checkpoint()
    if (!(await writeCheckpoint(trx, checkpoint))) throw new Error(`The run ${runId} changed under its locks.`)
    await recordAct(context, trx, viewer, { action: 'retryRun', subject: ['Run', runId] })
    afterCommit(() => announceCheckpoint(context, checkpoint))
    return { outcome: 'accepted', runId }
  })
}
