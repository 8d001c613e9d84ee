import type { Transaction } from 'kysely'

import { endRun } from '../domain/advance.ts'
import { Draft } from '../domain/draft.ts'
import { notFound } from '../domain/errors.ts'
import { encodeId } from '../domain/ids.ts'
import { hasEnded } from '../domain/run.ts'
import type { Viewer } from '../domain/viewer.ts'
import { waitForRun } from '../live/wait-for-run.ts'
import { findActiveRun, targetNotFound, type Target } from '../store/admission.ts'
import { writeCheckpoint } from '../store/checkpoint.ts'
import { loadRun } from '../store/load-run.ts'
import { lockRun } from '../store/lock-run.ts'
import { findRuns, setCancelRequested } from '../store/runs.ts'
import type { Database } from '../store/schema.ts'
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
  const runId = 'runId' in input ? input.runId : await activeRunOf(context, viewer, input)
  if (runId === null) return { outcome: 'nothing to cancel' }
  const [run] = await findRuns(context.db, viewer.tenantId, [runId])
  if (!run) throw notFound('run', encodeId('Run', runId))
  if (hasEnded(run.status)) return { outcome: run.status === 'CANCELLED' ? 'cancelled' : 'finished', runId }

  const announce = await context.db.transaction().execute((trx) => stopRun(context, trx, runId))
  announce()
  await waitForRun(context, runId, { waitMs: answerWithinMs })
  const [after] = await findRuns(context.db, viewer.tenantId, [runId])
  // It may have come to its end by itself at the very moment: then that stands.
  const finished = after !== undefined && hasEnded(after.status) && after.status !== 'CANCELLED'
  return { outcome: finished ? 'finished' : 'cancelled', runId }
}

async function activeRunOf(context: CommandContext, viewer: Viewer, target: Target): Promise<string | null> {
  const found = await findActiveRun(context.db, viewer.tenantId, target)
  if (!found) throw targetNotFound(target)
  return found.activeRunId
}

/**
 * Cancels a run in the caller's transaction. If nobody drives it, it is wound down here and now; if a worker does,
 * the worker is asked to, and its next checkpoint ends the run. What is returned tells the others once it is stored.
 */
export async function stopRun(context: CommandContext, trx: Transaction<Database>, runId: string): Promise<() => void> {
  await lockRun(trx, runId)
  const loaded = await loadRun(trx, runId)
  if (!loaded || hasEnded(loaded.state.run.status)) return () => {}
  if (loaded.state.run.lease !== null) {
    await setCancelRequested(trx, runId, context.clock.now())
    return () => context.hub.askToStop(runId)
  }
  const draft = new Draft(loaded.state, context)
  endRun(draft, { stopReason: 'CANCELLED' })
  await writeCheckpoint(trx, draft.checkpoint())
  return () => context.hub.poke(runId, 'stored')
}
