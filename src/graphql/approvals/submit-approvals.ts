import { type OfferedDecision, submitApprovals } from '../../commands/approvals/submit-approvals.ts'
import { keyedInput } from '../../commands/idempotency.ts'
import { namedFiles, type OfferedPart, type OfferedUpload } from '../../domain/context/offered-content.ts'
import { checkedParts } from '../../domain/conversations/content-input.ts'
import { textOf } from '../../domain/conversations/content.ts'
import { badUserInput } from '../../domain/errors.ts'
import { checkedCount, checkedText } from '../../domain/input.ts'
import { checkedMessages, checkedWait } from '../../domain/runs/run-input.ts'
import { waitForRun } from '../../live/wait-for-run.ts'
import { storableText } from '../../util/json.ts'
import { builder } from '../builder.ts'
import type { Context } from '../context.ts'
import { ContentPartInput } from '../conversations/content-part.ts'
import { NewMessageInput } from '../conversations/given-message.ts'
import { given, id, json, of, string, strings } from '../fields.ts'
import { mutation } from '../mutation.ts'
import { requireUuid } from '../node.ts'
import { waitMsField } from '../runs/run-results.ts'
import { ApprovalScope, ToolReturnStatus } from '../tools/tool-call-outcome.ts'
import { submitApprovalsResult } from './submit-approvals-result.ts'

const maxDecisions = 200
const maxWordsForModel = 10_000

const ApproveInput = builder.inputType('ApproveInput', {
  description: 'An approval.',
  fields: given({
    toolCallId: id.required('Id of the tool call.'),
    arguments: json(
      "Arguments to use instead of the model's. Approvals given before for other arguments no longer count.",
    ),
    note: string('Note for the model, which reads it with the result. At most 10,000 characters.'),
    scope: of(ApprovalScope).withDefault(
      'ONCE',
      'How far the approval reaches. Defaults to ONCE. If several approvals are required, the narrowest scope applies.',
    ),
  }),
})

const DenyInput = builder.inputType('DenyInput', {
  description: 'A denial.',
  fields: given({
    toolCallId: id.required('Id of the tool call.'),
    reason: string('Reason for the model, at most 10,000 characters.'),
  }),
})

const ClientToolReturnInput = builder.inputType('ClientToolReturnInput', {
  description: 'Result of a tool call that the client ran. Give either `output` or `content`.',
  fields: given({
    toolCallId: id.required('Id of the tool call.'),
    status: of(ToolReturnStatus).required('Whether the tool succeeded.'),
    output: string("Text of the result, or of the error. It is cut to the tool's `returnCharLimit`."),
    content: of([ContentPartInput])('Parts of the result: 1 to 50.'),
    stdout: strings('Lines that the tool wrote to standard output. Empty by default.'),
    stderr: strings('Lines that the tool wrote to standard error. Empty by default.'),
  }),
})

const ApprovalDecisionInput = builder.inputType('ApprovalDecisionInput', {
  description: 'A decision about one tool call.',
  isOneOf: true,
  fields: given({
    approve: of(ApproveInput)(
      'Lets the server run the call. Requires the APPROVE scope, and MANAGE too if `scope` is AGENT.',
    ),
    deny: of(DenyInput)('Prevents the call from being run. Requires the APPROVE scope, or RUN for a client tool.'),
    toolReturn: of(ClientToolReturnInput)(
      'Result of a call that the client ran. Requires the RUN scope, or APPROVE if the call waits for approval.',
    ),
  }),
})

const SubmitApprovalsInput = builder.inputType('SubmitApprovalsInput', {
  description: 'Decisions about waiting tool calls of one run.',
  fields: given({
    runId: id.required('Id of the run.'),
    decisions: of([ApprovalDecisionInput]).required('Decisions: 1 to 200. Undecided calls keep waiting.'),
    followUp: of([NewMessageInput])('Messages for the model after the tool results, in the same run. At most 100.'),
    waitMs: waitMsField,
    idempotencyKey: string(
      '1 to 200 characters. The same key and input of the same actor within 24 hours return the same result, and `followUp` is stored once.',
    ),
  }),
})

mutation('submitApprovals', {
  description:
    'Approves, denies or answers waiting tool calls. The run continues when none of its calls waits any more. If anything is refused, nothing is changed.',
  input: SubmitApprovalsInput,
  result: submitApprovalsResult,
  async resolve(input, context) {
    const waitMs = checkedWait('input.waitMs', input.waitMs)
    const runId = requireUuid('Run', input.runId)
    const result = await submit(context, runId, input)
    if (result.outcome === 'accepted') await waitForRun(context, runId, { waitMs })
    return result
  },
})

type Input = typeof SubmitApprovalsInput.$inferInput

async function submit(context: Context, runId: string, input: Input) {
  if (input.decisions.length === 0) throw badUserInput('input.decisions', 'It is empty. Expected 1 to 200 decisions.')
  checkedCount('input.decisions', input.decisions, { max: maxDecisions })
  const uploads: OfferedUpload[] = []
  const decisions = input.decisions.map((one, index) => toDecision(`input.decisions.${index}`, one, uploads))
  const followUp = checkedMessages('input.followUp', input.followUp ?? [])
  const returned = decisions.flatMap((one) => (one.kind === 'CLIENT_RETURN' ? (one.content ?? []) : []))
  const outcome = await submitApprovals(context, context.viewer, {
    runId,
    decisions,
    followUp: followUp.messages,
    files: {
      named: [...namedFiles(returned), ...followUp.files.named],
      brought: [...uploads, ...followUp.files.brought],
    },
    keyed: keyedInput(context.viewer, 'submitApprovals', withDefaults(input)),
  })
  return { ...outcome, runId }
}

/** Fills in the defaults that the schema only describes. */
function withDefaults({ decisions, ...input }: Input) {
  const filledIn = decisions.map((one) =>
    one.toolReturn ? { toolReturn: { stdout: [], stderr: [], ...one.toolReturn } } : one,
  )
  return { followUp: [], ...input, decisions: filledIn }
}

function toDecision(field: string, input: Input['decisions'][number], uploads: OfferedUpload[]): OfferedDecision {
  if (input.approve) {
    const { toolCallId, arguments: edited, note, scope } = input.approve
    return {
      kind: 'APPROVED',
      toolCallId,
      arguments: edited ?? undefined,
      note: wordsForModel(`${field}.approve.note`, note),
      scope: scope ?? 'ONCE',
    }
  }
  if (input.deny) {
    const { toolCallId, reason } = input.deny
    return { kind: 'DENIED', toolCallId, reason: wordsForModel(`${field}.deny.reason`, reason) }
  }
  const { toolCallId, status, stdout, stderr } = input.toolReturn
  return {
    kind: 'CLIENT_RETURN',
    toolCallId,
    status,
    ...returnedContent(`${field}.toolReturn`, input.toolReturn, uploads),
    stdout: (stdout ?? []).map(storableText),
    stderr: (stderr ?? []).map(storableText),
  }
}

/** A client returns a text, or parts. */
function returnedContent(
  field: string,
  { output, content }: typeof ClientToolReturnInput.$inferInput,
  uploads: OfferedUpload[],
): { readonly output: string; readonly content?: readonly OfferedPart[] } {
  if (typeof output === 'string' && content) {
    throw badUserInput(`${field}.content`, 'It cannot be combined with `output`. Give one of the two.')
  }
  if (typeof output === 'string') return { output: storableText(output) }
  if (!content) throw badUserInput(`${field}.output`, 'It is missing. Give either `output` or `content`.')
  const parts = checkedParts(`${field}.content`, content, uploads)
  return { output: textOf(parts), content: parts }
}

/** A note or a reason. Empty text counts as none. */
function wordsForModel(field: string, value: string | null | undefined): string | null {
  const text = checkedText(field, value ?? '', { max: maxWordsForModel })
  return text === '' ? null : text
}
