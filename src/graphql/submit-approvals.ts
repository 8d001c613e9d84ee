import { submitApprovals, type GivenDecision } from '../commands/submit-approvals.ts'
import { badUserInput } from '../domain/errors.ts'
import { checkedCount, checkedText } from '../domain/input.ts'
import { waitForRun } from '../live/wait-for-run.ts'
import { storableText } from '../util/json.ts'
import { builder } from './builder.ts'
import type { Context } from './context.ts'
import { NewMessageInput } from './given-message.ts'
import { requireUuid } from './node.ts'
import { checkedMessages, checkedToken, checkedWait } from './run-input.ts'
import { SubmitApprovalsResult } from './submit-approvals-result.ts'
import { ApprovalScope, ToolReturnStatus } from './tool-call-outcome.ts'

const maxDecisions = 200
const maxReasonCharacters = 10_000

const ApproveInput = builder.inputType('ApproveInput', {
  description: 'Lets the server run a call.',
  fields: (t) => ({
    toolCallId: t.id({ required: true, description: 'The call.' }),
    arguments: t.field({ type: 'JSON', description: 'Run the call with these arguments instead.' }),
    scope: t.field({
      type: ApprovalScope,
      required: true,
      defaultValue: 'ONCE',
      description: 'How far the approval reaches.',
    }),
  }),
})

const DenyInput = builder.inputType('DenyInput', {
  description: 'Keeps a call from being run.',
  fields: (t) => ({
    toolCallId: t.id({ required: true, description: 'The call.' }),
    reason: t.string({ description: 'Why, as the model reads it.' }),
  }),
})

const ClientToolReturnInput = builder.inputType('ClientToolReturnInput', {
  description: 'What a call returned that the client ran.',
  fields: (t) => ({
    toolCallId: t.id({ required: true, description: 'The call.' }),
    status: t.field({
      type: ToolReturnStatus,
      required: true,
      description: 'Whether the tool did what it was asked to.',
    }),
    output: t.string({ required: true, description: 'What it returned, or what went wrong.' }),
    stdout: t.stringList({ description: 'What it wrote to its standard output, line by line.' }),
    stderr: t.stringList({ description: 'What it wrote to its standard error, line by line.' }),
  }),
})

const ApprovalDecisionInput = builder.inputType('ApprovalDecisionInput', {
  description: 'A decision about one call.',
  isOneOf: true,
  fields: (t) => ({
    approve: t.field({ type: ApproveInput, description: 'Let the server run it.' }),
    deny: t.field({ type: DenyInput, description: 'Keep it from being run.' }),
    toolReturn: t.field({
      type: ClientToolReturnInput,
      description:
        'For a client tool, with the RUN scope; for a call that needs approval (the client ran it itself), with APPROVE.',
    }),
  }),
})

const SubmitApprovalsInput = builder.inputType('SubmitApprovalsInput', {
  description: 'Decisions about the calls that a run waits for.',
  fields: (t) => ({
    runId: t.id({ required: true, description: 'The run that waits.' }),
    decisions: t.field({
      type: [ApprovalDecisionInput],
      required: true,
      description: 'One for each call that is decided now; others may follow.',
    }),
    followUp: t.field({
      type: [NewMessageInput],
      description:
        'Handed to the model after the tool returns, in the same run. It comes with a decision: where all were taken before, one that did not come with them then is refused.',
    }),
    waitMs: t.int({
      required: true,
      defaultValue: 0,
      description: 'Answer once the run pauses or ends, or this long is over (at most 5 minutes). 0: at once.',
    }),
    idempotencyKey: t.string({
      description: 'The same key within 24 hours gives the same answer; `followUp` is taken once. 1 to 200 characters.',
    }),
  }),
})

builder.mutationField('submitApprovals', (t) =>
  t.field({
    type: SubmitApprovalsResult,
    nullable: true,
    description: 'Approves, denies or answers pending tool calls. The run goes on once none of its calls is pending.',
    args: { input: t.arg({ type: SubmitApprovalsInput, required: true, description: 'The decisions.' }) },
    resolve: async (_root, { input }, context) => {
      const waitMs = checkedWait('input.waitMs', input.waitMs)
      const runId = requireUuid('Run', input.runId)
      const result = await submit(context, runId, input)
      if (result.type === 'SubmitApprovalsSuccess') await waitForRun(context, runId, { waitMs })
      return result
    },
  }),
)

type Input = typeof SubmitApprovalsInput.$inferInput

async function submit(context: Context, runId: string, input: Input) {
  if (input.decisions.length === 0) throw badUserInput('input.decisions', 'It is empty. Expected 1 to 200 decisions.')
  checkedCount('input.decisions', input.decisions, { max: maxDecisions })
  const outcome = await submitApprovals(context, context.viewer, {
    runId,
    decisions: input.decisions.map((decision, index) => toDecision(`input.decisions.${index}`, decision)),
    followUp: checkedMessages('input.followUp', input.followUp ?? []),
    idempotencyKey: checkedToken('input.idempotencyKey', input.idempotencyKey),
  })
  switch (outcome.outcome) {
    case 'accepted':
      return { type: 'SubmitApprovalsSuccess' as const, runId }
    case 'nothing pending':
      return { ...outcome, type: 'NoPendingApprovalRefusal' as const, runId }
    case 'invalid ids':
      return { ...outcome, type: 'InvalidToolCallIdsRefusal' as const }
    case 'already decided':
      return { ...outcome, type: 'AlreadyDecidedRefusal' as const }
    case 'invalid arguments':
      return { ...outcome, type: 'InvalidArgumentsRefusal' as const }
    default:
      return outcome satisfies never
  }
}

function toDecision(field: string, input: Input['decisions'][number]): GivenDecision {
  if (input.approve) {
    const { toolCallId, arguments: edited, scope } = input.approve
    return {
      kind: 'APPROVED',
      toolCallId,
      arguments: edited ?? undefined,
      scope: scope ?? 'ONCE',
    }
  }
  if (input.deny) {
    const { toolCallId, reason } = input.deny
    const text = checkedText(`${field}.deny.reason`, reason ?? '', { max: maxReasonCharacters })
    return { kind: 'DENIED', toolCallId, reason: text === '' ? null : text }
  }
  const { toolCallId, status, output, stdout, stderr } = input.toolReturn
  return {
    kind: 'CLIENT_RETURN',
    toolCallId,
    status,
    output: storableText(output),
    stdout: (stdout ?? []).map(storableText),
    stderr: (stderr ?? []).map(storableText),
  }
}
