import { claimToolCall } from '../../commands/tools/claim-tool-call.ts'
import { badUserInput } from '../../domain/errors.ts'
import { checkedNumber } from '../../domain/input.ts'
import { checkedToken } from '../../domain/runs/run-input.ts'
import { AlreadyDecidedRefusal, NoPendingApprovalRefusal } from '../approvals/submit-approvals-result.ts'
import { id, int, objectType, string } from '../fields.ts'
import { linkTo } from '../load-existing.ts'
import { mutation, outcomes } from '../mutation.ts'
import { requireUuid } from '../node.ts'
import { ToolCall } from '../refs.ts'
import { refusalType } from '../refusal.ts'

mutation('claimToolCall', {
  description:
    'Claims a client tool call, so that only one of several open clients runs it. Claiming is optional: `submitApprovals` accepts the first result from any client.',
  input: {
    description: 'A client tool call to claim.',
    fields: {
      toolCallId: id.required('Id of the tool call.'),
      claimantId: string.required(
        'Id that the client chooses, such as one per browser tab, 1 to 200 characters. The same id extends a claim.',
      ),
      leaseMs: int.withDefault(60_000, 'How long the claim is valid. Defaults to 60,000, at most 3,600,000.'),
    },
  },
  result: outcomes({
    claimed: objectType('ClaimToolCallSuccess', {
      description: 'The claim is granted.',
      fields: { toolCall: linkTo(ToolCall, 'toolCallId', 'The tool call, with its claim.') },
    }),
    'claimed by another': refusalType('ToolCallClaimedRefusal', {
      description: 'Another client has claimed the tool call, and its claim has not expired.',
      says: 'Another client has claimed this tool call. Try again when its claim has expired.',
      fields: { toolCall: linkTo(ToolCall, 'toolCallId', 'The tool call, with its current claim.') },
    }),
    'already decided': AlreadyDecidedRefusal,
    'nothing pending': NoPendingApprovalRefusal,
  }),
  async resolve(input, context) {
    const claimantId = checkedToken('input.claimantId', input.claimantId)
    if (claimantId === null) throw badUserInput('input.claimantId', 'Must not be null.')
    const result = await claimToolCall(context, context.viewer, {
      toolCallId: requireUuid('ToolCall', input.toolCallId),
      claimantId,
      leaseMs: checkedNumber('input.leaseMs', input.leaseMs, { from: 1, to: 3_600_000 }),
    })
    return { ...result, toolCallIds: [result.toolCallId] }
  },
})
