import type { Client } from '../client/client.ts'
import { SubmitApprovals, type SubmitApprovalsData } from '../client/documents.ts'
import type { ApprovalDecisionInput } from '../client/schema-types.ts'
import { newKey } from '../client/new-key.ts'

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
