import type { Actor } from '../../domain/access/actor.ts'
import { endRun } from '../../domain/runs/advance.ts'
import { notFound } from '../../domain/errors.ts'
import { encodeId } from '../../domain/ids.ts'
import { hasEnded } from '../../domain/runs/run.ts'
import { targetNotFound, type Target } from '../../domain/conversations/conversation.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import { changeRun, type ChangeTransaction } from '../../live/change-run.ts'
import { waitForRun } from '../../live/wait-for-run.ts'
import { lockConversation } from '../../store/runs/admission.ts'
import {
  listAbandonedCancels,
  requestCancel,
  setCancelledBy,
  type CancelRequest,
} from '../../store/runs/cancel-requests.ts'
import { findRuns } from '../../store/runs/runs.ts'
import { transact } from '../../store/database/transact.ts'
import type { CommandContext, RunContext } from '../command-context.ts'
import { recordAct } from '../record-change.ts'

export type CancelRunInput = { readonly runId: string } | Target

export type CancelRunOutcome =
  | { readonly outcome: 'cancelled'; readonly runId: string }
  | { readonly outcome: 'finished'; readonly runId: string }
  | { readonly outcome: 'nothing to cancel' }

const answerWithinMs = 2_000

/** Returns when the run has ended, or after two seconds if its worker is still stopping it. */
export async function cancelRun(
  context: CommandContext,
  viewer: Viewer,
  input: CancelRunInput,
): Promise<CancelRunOutcome> {
  const runId =
    'runId' in input ? await stopNamed(context, viewer, input.runId) : await stopActive(context, viewer, input)
  if (runId === null) return { outcome: 'nothing to cancel' }
  await waitForRun(context, runId, { waitMs: answerWithinMs })
  const [after] = await findRuns(context.db, viewer, [runId])
  // After a cancel is stored, a run can only end as cancelled. This one had ended before.
  const finished = after !== undefined && hasEnded(after.status) && after.status !== 'CANCELLED'
  return { outcome: finished ? 'finished' : 'cancelled', runId }
}

async function stopNamed(context: CommandContext, viewer: Viewer, runId: string): Promise<string> {
  const [run] = await findRuns(context.db, viewer, [runId])
  if (!run) throw notFound('run', encodeId('Run', runId))
  // Usually a worker drives the run. Then a single statement comes before the worker closes the provider's connection.
  const stop = { runId, by: viewer.actor, action: 'cancelRun' }
  const request = await requestCancel(context.db, runId, requestOf(context, stop))
  if (request) announceRequest(context, runId, request)
  else await stopAlone(context, stop)
  return runId
}

function stopAlone(context: RunContext, stop: Stop): Promise<void> {
  return transact(context, (trx, afterCommit) => stopRun(context, { trx, afterCommit }, stop))
}

/** `by` is null for a run whose cancel is already stored. `action` is the mutation that asks for it. */
interface Stop {
  readonly runId: string
  readonly by: Actor | null
  readonly action: string
}

function requestOf({ clock, ids }: RunContext, { runId, by, action }: Stop & { readonly by: Actor }) {
  return { by, now: clock.now(), entry: { id: ids.next(), action, subjectId: encodeId('Run', runId) } }
}

/** Ends runs whose worker died after it was asked to stop them: there may be no other worker to claim them. */
export async function stopAbandonedRuns(context: RunContext): Promise<void> {
  for (const runId of await listAbandonedCancels(context.db)) {
    await stopAlone(context, { runId, by: null, action: 'cancelRun' })
  }
}

/** The active run cannot change until the transaction ends. */
function stopActive(context: CommandContext, viewer: Viewer, target: Target): Promise<string | null> {
  return transact(context, async (trx, afterCommit) => {
    const locked = await lockConversation(trx, viewer, target)
    if (!locked) throw targetNotFound(target)
    const runId = locked.activeRunId
    if (runId !== null) await stopRun(context, { trx, afterCommit }, { runId, by: viewer.actor, action: 'cancelRun' })
    return runId
  })
}

/**
 * Cancels a run in the caller's transaction. If nobody drives the run, it is ended here. If a worker does, the worker
 * is asked to stop, and its next checkpoint ends the run.
 */
export async function stopRun(context: RunContext, { trx, afterCommit }: ChangeTransaction, stop: Stop): Promise<void> {
  const { runId, by, action } = stop
  await changeRun(context, { trx, afterCommit }, runId, async (draft) => {
    const { status, tenantId } = draft.state.run
    if (hasEnded(status)) return
    const request = by && (await requestCancel(trx, runId, requestOf(context, { ...stop, by })))
    if (request) return afterCommit(() => announceRequest(context, runId, request))
    if (by) {
      await setCancelledBy(trx, runId, by)
      await recordAct(context, trx, { tenantId, actor: by }, { action, subject: ['Run', runId] })
    }
    endRun(draft, { stopReason: 'CANCELLED' })
  })
}

function announceRequest({ hub }: RunContext, runId: string, { conversationId, tenantId }: CancelRequest): void {
  hub.requestStop(runId)
  hub.announce({ runId, conversationId, tenantId, status: 'CANCELLING', calls: false })
}
