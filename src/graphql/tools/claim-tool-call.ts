import { claimToolCall } from '../../commands/tools/claim-tool-call.ts'
import { badUserInput } from '../../domain/errors.ts'
import { checkedNumber } from '../../domain/input.ts'
import { mutation, outcomes, successType } from '../mutation.ts'
import { requireUuid } from '../node.ts'
import { refusalType } from '../refusal.ts'
import { checkedToken } from '../../domain/runs/run-input.ts'
import { ToolCall } from '../refs.ts'
import {
  AlreadyDecidedRefusal,
  callOf,
  NoPendingApprovalRefusal,
  type ToolCallId,
} from '../approvals/submit-approvals-result.ts'

const ClaimToolCallSuccess = successType<'ClaimToolCallSuccess', ToolCallId>(
  'ClaimToolCallSuccess',
  'The claim is granted.',
  (t) => ({
    toolCall: t.field({ type: ToolCall, description: 'The tool call, with its claim.', resolve: callOf }),
  }),
)

const ToolCallClaimedRefusal = refusalType<'ToolCallClaimedRefusal', ToolCallId>(
  'ToolCallClaimedRefusal',
  'Another client has claimed the tool call, and its claim has not expired.',
  (t) => ({
    toolCall: t.field({ type: ToolCall, description: 'The tool call, with its current claim.', resolve: callOf }),
  }),
)

mutation('claimToolCall', {
  description:
    'Claims a client tool call, so that only one of several open clients runs it. Claiming is optional: `submitApprovals` accepts the first result from any client.',
  input: {
    description: 'A client tool call to claim.',
    fields: (t) => ({
      toolCallId: t.id({ required: true, description: 'Id of the tool call.' }),
      claimantId: t.string({
        required: true,
        description:
          'Id that the client chooses, such as one per browser tab, 1 to 200 characters. The same id extends a claim.',
      }),
      leaseMs: t.int({
        required: true,
        defaultValue: 60_000,
        description: 'How long the claim is valid. Defaults to 60,000, at most 3,600,000.',
      }),
    }),
  },
  result: outcomes([ClaimToolCallSuccess, ToolCallClaimedRefusal, AlreadyDecidedRefusal, NoPendingApprovalRefusal]),
  async resolve(input, context) {
    const claimantId = checkedToken('input.claimantId', input.claimantId)
    if (claimantId === null) throw badUserInput('input.claimantId', 'Must not be null.')
    const { outcome, ...ids } = await claimToolCall(context, context.viewer, {
      toolCallId: requireUuid('ToolCall', input.toolCallId),
      claimantId,
      leaseMs: checkedNumber('input.leaseMs', input.leaseMs, { from: 1, to: 3_600_000 }),
    })
    switch (outcome) {
      case 'claimed':
        return { type: 'ClaimToolCallSuccess' as const, toolCallId: ids.toolCallId }
      case 'claimed by another':
        return {
          type: 'ToolCallClaimedRefusal' as const,
          message: 'Another client has claimed this tool call. Try again when its claim has expired.',
          toolCallId: ids.toolCallId,
        }
      case 'already decided':
        return {
          type: 'AlreadyDecidedRefusal' as const,
          message: 'The tool call already has a result or was denied.',
          toolCallIds: [ids.toolCallId],
        }
      case 'nothing pending':
        return {
          type: 'NoPendingApprovalRefusal' as const,
          message: 'No tool call is currently awaiting approval.',
          runId: ids.runId,
        }
      default:
        return outcome satisfies never
    }
  },
})
