import type { Transaction } from 'kysely'

import { endRun } from '../domain/advance.ts'
import { Draft } from '../domain/draft.ts'
import { notFound } from '../domain/errors.ts'
import { encodeId } from '../domain/ids.ts'
import { hasEnded } from '../domain/run.ts'
import type { Viewer } from '../domain/viewer.ts'
import { announceEnd } from '../live/announce-end.ts'
import { waitForRun } from '../live/wait-for-run.ts'
import { lockConversation, targetNotFound, type Target } from '../store/admission.ts'
import { storeEnd } from '../store/end-run.ts'
import { loadRun } from '../store/load-run.ts'
import { lockRun } from '../store/lock-run.ts'
import { findRuns, setCancelRequested } from '../store/runs.ts'
import type { Database } from '../store/schema.ts'
import { isWorkerGone } from '../store/workers.ts'
import type { CommandContext } from './command-context.ts'

export type CancelRunInput = { readonly runId: string } | Target

export type CancelRunOutcome =
  | { readonly outcome: 'cancelled'; readonly runId: string }
  | { readonly outcome: 'finished'; readonly runId: string }
  | { readonly outcome: 'nothing to cancel' }

const answerWithinMs = 2_000

/** Answers when the run has ended, or after two seconds, when its worker is still winding it down. */
export async function cancelRun(
  context: CommandContext,
  viewer: Viewer,
  input: CancelRunInput,
): Promise<CancelRunOutcome> {
  if ('runId' in input) {
    const [run] = await findRuns(context.db, viewer.tenantId, [input.runId])
    if (!run) throw notFound('run', encodeId('Run', input.runId))
  }
  const stopped = await context.db.transaction().execute(async (trx) => {
    const runId = 'runId' in input ? input.runId : await lockActiveRun(trx, viewer, input)
    return runId === null ? undefined : { runId, announce: await stopRun(context, trx, runId) }
  })
  if (!stopped) return { outcome: 'nothing to cancel' }
  const { runId, announce } = stopped
  announce()
  await waitForRun(context, runId, { waitMs: answerWithinMs })
  const [after] = await findRuns(context.db, viewer.tenantId, [runId])
  // Once a cancel is stored a run ends in no other way: this one had come to its end before.
  const finished = after !== undefined && hasEnded(after.status) && after.status !== 'CANCELLED'
  return { outcome: finished ? 'finished' : 'cancelled', runId }
}

/** Which run is active cannot change before the transaction is over. */
async function lockActiveRun(trx: Transaction<Database>, viewer: Viewer, target: Target): Promise<string | null> {
  const locked = await lockConversation(trx, viewer.tenantId, target)
  if (!locked) throw targetNotFound(target)
  return locked.activeRunId
}

/**
 * Cancels a run in the caller's transaction. If nobody drives it, it is wound down here and now; if a worker does,
 * the worker is asked to, and its next checkpoint ends the run. What is returned tells the others once it is stored.
 */
export async function stopRun(context: CommandContext, trx: Transaction<Database>, runId: string): Promise<() => void> {
  const locked = await lockRun(trx, runId)
  const loaded = await loadRun(trx, runId)
  if (!locked || !loaded || hasEnded(loaded.state.run.status)) return () => {}
  const { lease, workerId } = loaded.state.run
  if (lease !== null && (workerId === null || !(await isWorkerGone(trx, workerId)))) {
    await setCancelRequested(trx, runId, context.clock.now())
    const { conversationId, tenantId } = loaded.state.run
    return () => {
      context.hub.askToStop(runId)
      context.hub.tell({ runId, conversationId, tenantId, status: 'CANCELLING', calls: false })
    }
  }
  const draft = new Draft(loaded.state, context)
  endRun(draft, { stopReason: 'CANCELLED' })
  const end = await storeEnd(trx, draft.checkpoint(), { ids: context.ids, locked })
  return () => announceEnd(context.hub, end)
}
