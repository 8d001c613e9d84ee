import { approvalsOf } from '../../domain/approvals/call-approvals.ts'
import { encodeId } from '../../domain/ids.ts'
import type {
  ApprovalScope as DomainApprovalScope,
  Decision,
  ToolCallArguments,
  ToolCallOutline,
  ToolResult,
} from '../../domain/tools/tool-call.ts'
import { jsonOf } from '../../domain/tools/tool-output.ts'
import type { Json } from '../../util/json.ts'
import { Actor } from '../access/actor.ts'
import { builder } from '../builder.ts'
import type { Context } from '../context.ts'
import { ContentPart, shownParts } from '../conversations/content-part.ts'
import { describedEnum } from '../described-enum.ts'
import { id, idOf, implement, json, of, string, time } from '../fields.ts'
import { loadExisting } from '../load-existing.ts'

export function argumentsOf(call: ToolCallOutline, context: Context): Promise<ToolCallArguments> {
  return loadExisting(context.loaders.argumentsOfCall, 'ToolCall', call.id)
}

/** Null unless the call, as it was read, has an approval: arguments that were edited after that must not be shown. */
export async function editedArgumentsOf(call: ToolCallOutline, _args: object, context: Context): Promise<Json> {
  return approvalsOf(call).length > 0 ? (await argumentsOf(call, context)).editedArguments : null
}

/** Options of a field that is read from the result of its call. */
function ofResult<Value>(description: string, read: (result: ToolResult) => Value) {
  const resolve = async (call: ToolCallOutline, _args: object, context: Context) => read(await resultOf(call, context))
  return { description, resolve }
}

function resultOf(call: ToolCallOutline, context: Context): Promise<ToolResult> {
  return loadExisting(context.loaders.resultOfCall, 'ToolCall', call.id)
}

export const ToolReturnStatus = describedEnum('ToolReturnStatus', 'Whether a tool succeeded.', {
  SUCCESS: 'The tool succeeded.',
  ERROR: 'The tool failed. Its output says why.',
})

export const ApprovalScope = describedEnum<DomainApprovalScope>('ApprovalScope', 'How far an approval reaches.', {
  ONCE: 'This call.',
  RUN: 'This call and later calls of the same tool in this run.',
  AGENT: 'This call and all later calls of the same tool by this agent, until `setToolApproval` changes that.',
})

const ApprovalDecisionKind = describedEnum<Decision['kind']>(
  'ApprovalDecisionKind',
  'What was decided about a tool call.',
  {
    APPROVED: 'The server may run the call.',
    DENIED: 'The call must not be run.',
    CLIENT_RETURN: 'A client ran the call and returned the result.',
  },
)

/** A decision to show: the one that decided a call, or one of the approvals before it. */
interface ShownDecision extends Pick<Decision, 'kind' | 'reason' | 'note' | 'scope' | 'actor'> {
  readonly call: ToolCallOutline
  readonly decidedAt: Date
}

/** The decision about a call. Null until it is decided. */
export function decisionOf(call: ToolCallOutline): ShownDecision | null {
  const { decision, decidedAt } = call
  return decision && decidedAt && { ...decision, call, decidedAt }
}

export function decisionsOf(calls: readonly ToolCallOutline[]): ShownDecision[] {
  return calls.flatMap((call) => decisionOf(call) ?? [])
}

/** The approvals of a call that count, oldest first. */
export function shownApprovals(call: ToolCallOutline): ShownDecision[] {
  return approvalsOf(call).map(({ at, ...approval }) => ({
    ...approval,
    kind: 'APPROVED',
    reason: null,
    call,
    decidedAt: new Date(at),
  }))
}

export const ApprovalDecision = builder.objectRef<ShownDecision>('ApprovalDecision')
implement(ApprovalDecision, {
  description: 'A decision about a tool call. Fields that do not belong to its kind are null.',
  fields: (t) => ({
    toolCallId: t.field({
      ...id('Id of the tool call.'),
      resolve: ({ call }) => encodeId('ToolCall', call.id),
    }),
    kind: of(ApprovalDecisionKind)('What was decided.'),
    reason: string.orNull('DENIED: reason for the model. Null if none was given.'),
    note: string.orNull('APPROVED: note for the model. Null if none was given.'),
    scope: of(ApprovalScope).orNull('APPROVED: how far the approval reaches.'),
    editedArguments: t.field({
      ...json.orNull("APPROVED: arguments that were set instead of the model's. Null if they were not changed."),
      resolve: ({ call }, args, context) => editedArgumentsOf(call, args, context),
    }),
    toolReturn: t.field({
      ...string.orNull("CLIENT_RETURN: text of the client's result."),
      resolve: async (decision, _args, context) => (await clientResult(decision, context))?.output,
    }),
    status: t.field({
      ...of(ToolReturnStatus).orNull("CLIENT_RETURN: whether the client's tool succeeded."),
      resolve: async (decision, _args, context) => (await clientResult(decision, context))?.status,
    }),
    actor: of(Actor).orNull('Who decided. Null if the approval expired.'),
    decidedBy: t.field({
      ...string.orNull('Same as `actor.name`. Null if the approval expired.'),
      resolve: ({ actor }) => actor?.name,
    }),
    decidedAt: time('When it was decided.'),
  }),
})

async function clientResult({ kind, call }: ShownDecision, context: Context): Promise<ToolResult | null> {
  return kind === 'CLIENT_RETURN' ? resultOf(call, context) : null
}

/** The result of a call that has one. */
export const ToolReturn = builder.objectRef<ToolCallOutline>('ToolReturn')
implement(ToolReturn, {
  description: 'The result of a tool call.',
  fields: (t) => ({
    toolCallId: idOf('ToolCall', 'id', 'Id of the tool call.'),
    providerCallId: string('Id that the model gave the call.'),
    name: string('Name of the tool.'),
    status: t.field({ type: ToolReturnStatus, ...ofResult('Whether the tool succeeded.', ({ status }) => status) }),
    output: t.string(
      ofResult('Text of the result, or of the error. Empty if the result has no text.', ({ output }) => output),
    ),
    content: t.field({
      ...of([ContentPart])('All parts of the result, in order.'),
      // Nearly every result is one text. A page of messages with all their calls and results must stay affordable.
      complexity: { field: 1, multiplier: 2 },
      resolve: async (call, _args, context) => {
        const { content, output } = await resultOf(call, context)
        if (!content) return shownParts(output === '' ? [] : [{ text: output }], '')
        const { conversationId } = await loadExisting(context.loaders.runs, 'Run', call.runId)
        return shownParts(content, conversationId)
      },
    }),
    json: t.field({
      type: 'JSON',
      nullable: true,
      ...ofResult(
        "Result as JSON: the tool's structured result, or else `output` parsed. Null if there is neither.",
        jsonOf,
      ),
    }),
    stdout: t.stringList(ofResult('Lines that the tool wrote to standard output.', ({ stdout }) => stdout)),
    stderr: t.stringList(ofResult('Lines that the tool wrote to standard error.', ({ stderr }) => stderr)),
    truncated: t.boolean(
      ofResult("Whether the result was longer than the tool's limit and was cut.", ({ truncated }) => truncated),
    ),
    durationMs: t.float({
      nullable: true,
      ...ofResult('How long the call ran. Null if the server did not run it.', ({ durationMs }) => durationMs),
    }),
  }),
})
