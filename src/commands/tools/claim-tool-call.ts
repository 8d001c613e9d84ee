import { requireScope } from '../../auth/require-scope.ts'
import { claimCall, type ClaimOutcome } from '../../domain/approvals/claim.ts'
import { denyExpired } from '../../domain/approvals/decisions.ts'
import { badUserInput } from '../../domain/errors.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import { changeRun } from '../../live/change-run.ts'
import { findToolCalls } from '../../store/tools/tool-calls.ts'
import { transact } from '../../store/database/transact.ts'
import type { CommandContext } from '../command-context.ts'
import { found, foundOne } from '../found.ts'
import { settleDecisions } from '../approvals/submit-approvals.ts'

export interface ClaimToolCallInput {
  readonly toolCallId: string
  readonly claimantId: string
  readonly leaseMs: number
}

export interface ClaimToolCallOutcome {
  readonly outcome: Exclude<ClaimOutcome, 'not of a client'>
  readonly toolCallId: string
  readonly runId: string
}

/** Gives one client the right to execute a client tool's call, until the claim expires or the call is decided. */
export async function claimToolCall(
  context: CommandContext,
  viewer: Viewer,
  { toolCallId, ...claim }: ClaimToolCallInput,
): Promise<ClaimToolCallOutcome> {
  requireScope(viewer, ['RUN'], 'Claiming the call of a client tool')
  const { runId } = await foundOne('ToolCall', toolCallId, findToolCalls(context.db, viewer, [toolCallId]))

  const claimed = await transact(context, (trx, afterCommit) =>
    changeRun(context, { trx, afterCommit }, runId, async (draft, { state }) => {
      denyExpired(draft)
      const call = draft.state.calls.find(({ id }) => id === toolCallId)
      const outcome = claimCall(draft, found('ToolCall', toolCallId, call), { ...claim, actor: viewer.actor })
      await settleDecisions(context, trx, state, draft)
      return outcome
    }),
  )
  const outcome = found('Run', runId, claimed)
  if (outcome === 'not of a client')
    throw badUserInput('input.toolCallId', 'The call waits for approval, not for a client. Use submitApprovals.')
  return { outcome, toolCallId, runId }
}
