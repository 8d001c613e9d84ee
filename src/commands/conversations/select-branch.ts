import { waitsForCalls, type Run } from '../../domain/runs/run.ts'
import { findRunProgress, findRuns } from '../../store/runs/runs.ts'
import type { Trx } from '../../store/database/schema.ts'
import { badUserInput } from '../../domain/errors.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import { lockConversation } from '../../store/runs/admission.ts'
import { findTipThrough, isRunOnBranch, switchBranch } from '../../store/conversations/branches.ts'
import { transact } from '../../store/database/transact.ts'
import type { CommandContext } from '../command-context.ts'
import { found, foundOne } from '../found.ts'

/** The conversation is held by a run that waits for approval, or by one that is under way. */
export interface HeldRefusal {
  readonly outcome: 'pending approval' | 'busy'
  readonly runId: string
}

export function heldRefusal(runId: string, run: Pick<Run, 'status' | 'stopReason'>): HeldRefusal {
  return { outcome: waitsForCalls(run) ? 'pending approval' : 'busy', runId }
}

/** Why a command that needs the conversation for itself is refused. Undefined if no run holds the conversation. */
export async function refusalWhileHeld(trx: Trx, activeRunId: string | null): Promise<HeldRefusal | undefined> {
  if (activeRunId === null) return undefined
  const progress = await findRunProgress(trx, activeRunId)
  return progress ? heldRefusal(activeRunId, progress) : { outcome: 'busy', runId: activeRunId }
}

export type SelectBranchOutcome = { readonly outcome: 'selected'; readonly conversationId: string } | HeldRefusal

/** Makes the branch with this run the current one. Refused while a run holds the conversation. */
export async function selectBranch(
  context: CommandContext,
  viewer: Viewer,
  { runId }: { readonly runId: string },
): Promise<SelectBranchOutcome> {
  const { tenantId } = viewer
  const { conversationId } = await foundOne('Run', runId, findRuns(context.db, viewer, [runId]))
  return transact(context, async (trx, afterCommit): Promise<SelectBranchOutcome> => {
    const { activeRunId } = found('Run', runId, await lockConversation(trx, viewer, { conversationId }))
    const { hold } = await foundOne('Run', runId, findRuns(trx, viewer, [runId]))
    const refusal = await refusalWhileHeld(trx, activeRunId)
    if (refusal) return refusal
    if (hold === null) {
      throw badUserInput('input.runId', 'The run never held the conversation, so it is on no branch.')
    }
    if (!(await isRunOnBranch(trx, runId))) {
      const tip = await findTipThrough(trx, conversationId, hold)
      await switchBranch(trx, conversationId, { hold: tip, now: context.clock.now() })
      afterCommit(() => context.hub.announce({ runId: null, tenantId, conversationId, status: null, calls: false }))
    }
    return { outcome: 'selected', conversationId }
  })
}
