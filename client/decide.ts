import type { Client } from './client.ts'
import { SubmitApprovals, type SubmitApprovalsData } from './documents.ts'
import { newKey } from './new-key.ts'
import type { ApprovalDecisionInput } from './schema-types.ts'

/** `SubmitApprovalsSuccess`, or the refusal that says why nothing was changed. */
export type DecideResult = NonNullable<SubmitApprovalsData['submitApprovals']>

/** Decides about calls of one run. The key makes it safe to repeat a request after a lost connection. */
export async function decide(
  client: Client,
  runId: string,
  decisions: readonly ApprovalDecisionInput[],
): Promise<DecideResult> {
  const { submitApprovals } = await client.request(SubmitApprovals, {
    input: { runId, decisions, idempotencyKey: newKey() },
  })
  return submitApprovals!
}

const tooLate: readonly DecideResult['__typename'][] = ['AlreadyDecidedRefusal', 'NoPendingApprovalRefusal']

/**
 * Decides about those of the calls that still wait, for a page that may not know yet what others have decided. Throws
 * the reason if the server refuses for any other cause.
 */
export async function decideWaiting(
  client: Client,
  runId: string,
  decisions: readonly ApprovalDecisionInput[],
): Promise<void> {
  if (decisions.length === 0) return
  const result = await decide(client, runId, decisions)
  if (result.__typename === 'SubmitApprovalsSuccess') return
  if (!tooLate.includes(result.__typename)) throw new Error(result.message)
  // One late decision has kept the others from being stored.
  if (decisions.length > 1) for (const decision of decisions) await decideWaiting(client, runId, [decision])
}
