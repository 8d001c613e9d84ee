import type { ArgumentProblem } from '../../commands/approvals/submit-approvals.ts'
import { builder } from '../builder.ts'
import type { Context } from '../context/context.ts'
import { loadExisting } from '../load-existing.ts'
import { outcomes } from '../mutation.ts'
import { refusalType } from '../refusal.ts'
import { ToolCall } from '../refs.ts'
import { runRefusalType, runSuccessType } from '../runs/run-results.ts'
import { ApprovalDecision, decisionsOf } from '../tools/tool-call-outcome.ts'

const SubmitApprovalsSuccess = runSuccessType('SubmitApprovalsSuccess', {
  description: 'The decisions are stored.',
  run: 'The run. `pendingToolCalls` shows what it still waits for.',
})

export const NoPendingApprovalRefusal = runRefusalType('NoPendingApprovalRefusal', {
  description: 'The given tool calls do not wait: they never did, have expired or were cancelled.',
  run: 'Run of the tool calls.',
})

const InvalidToolCallIdsRefusal = refusalType<
  'InvalidToolCallIdsRefusal',
  { readonly invalidIds: readonly string[]; readonly expectedIds: readonly string[] }
>(
  'InvalidToolCallIdsRefusal',
  'Other calls of the run wait, but some of the given ids are not among them, or were given twice.',
  (t) => ({
    invalidIds: t.exposeIDList('invalidIds', { description: 'Ids that were given and are not valid.' }),
    expectedIds: t.exposeIDList('expectedIds', { description: 'Ids of the waiting tool calls.' }),
  }),
)

export interface ToolCallId {
  readonly toolCallId: string
}

export function callOf({ toolCallId }: ToolCallId, _args: object, { loaders }: Context) {
  return loadExisting(loaders.toolCalls, 'ToolCall', toolCallId)
}

interface ToolCallIds {
  readonly toolCallIds: readonly string[]
}

function callsOf({ toolCallIds }: ToolCallIds, { loaders }: Context) {
  return Promise.all(toolCallIds.map((id) => loadExisting(loaders.toolCalls, 'ToolCall', id)))
}

export const AlreadyDecidedRefusal = refusalType<'AlreadyDecidedRefusal', ToolCallIds>(
  'AlreadyDecidedRefusal',
  'A different decision was already made. The same decision again is not refused.',
  (t) => ({
    decisions: t.field({
      type: [ApprovalDecision],
      description: 'The decisions that stand: what was decided, by whom and when.',
      resolve: async (refusal, _args, context) => decisionsOf(await callsOf(refusal, context)),
    }),
  }),
)

const SelfApprovalRefusal = refusalType<'SelfApprovalRefusal', ToolCallIds>(
  'SelfApprovalRefusal',
  'The viewer started the run, and the tool excludes the sender from approving.',
  (t) => ({
    toolCalls: t.field({
      type: [ToolCall],
      description: 'Tool calls that the viewer may not approve.',
      resolve: (refusal, _args, context) => callsOf(refusal, context),
    }),
  }),
)

const ArgumentProblemType = builder.objectRef<ArgumentProblem>('ArgumentProblem')
ArgumentProblemType.implement({
  description: 'One problem in edited arguments.',
  fields: (t) => ({
    path: t.exposeString('path', { description: 'JSON Pointer to the value in the arguments.' }),
    message: t.exposeString('message', { description: 'What is wrong and what was expected.' }),
  }),
})

const InvalidArgumentsRefusal = refusalType<
  'InvalidArgumentsRefusal',
  ToolCallId & { readonly problems: readonly ArgumentProblem[] }
>('InvalidArgumentsRefusal', "The edited arguments do not match the tool's schema or the tool rules.", (t) => ({
  toolCall: t.field({
    type: ToolCall,
    description: 'Tool call whose arguments were edited.',
    resolve: callOf,
  }),
  problems: t.expose('problems', { type: [ArgumentProblemType], description: 'What is wrong with the arguments.' }),
}))

export const submitApprovalsResult = outcomes([
  SubmitApprovalsSuccess,
  NoPendingApprovalRefusal,
  InvalidToolCallIdsRefusal,
  AlreadyDecidedRefusal,
  SelfApprovalRefusal,
  InvalidArgumentsRefusal,
])
