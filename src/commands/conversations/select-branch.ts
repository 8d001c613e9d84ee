import { badUserInput } from '../../domain/errors.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import { lockConversation } from '../../store/runs/admission.ts'
import { findTipThrough, isRunOnBranch, switchBranch } from '../../store/conversations/branches.ts'
import { findRuns } from '../../store/runs/runs.ts'
import { transact } from '../../store/database/transact.ts'
import { refusalWhileHeld, type HeldRefusal } from './branch-refusal.ts'
import type { CommandContext } from '../command-context.ts'
import { found } from '../found.ts'

export type SelectBranchOutcome = { readonly outcome: 'selected'; readonly conversationId: string } | HeldRefusal

/** Makes the branch with this run the current one. Refused while a run holds the conversation. */
export async function selectBranch(
  context: CommandContext,
  viewer: Viewer,
  { runId }: { readonly runId: string },
): Promise<SelectBranchOutcome> {
  const { tenantId } = viewer
  const [named] = await findRuns(context.db, viewer, [runId])
  const { conversationId } = found('Run', runId, named)
  return transact(context, async (trx, afterCommit): Promise<SelectBranchOutcome> => {
    const { activeRunId } = found('Run', runId, await lockConversation(trx, viewer, { conversationId }))
    const [run] = await findRuns(trx, viewer, [runId])
    const { hold } = found('Run', runId, run)
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
