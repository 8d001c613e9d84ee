import type { ArgumentProblem } from '../commands/submit-approvals.ts'
import { builder } from './builder.ts'
import { loadExisting } from './load-existing.ts'
import { Refusal } from './refusal.ts'
import { ToolCall } from './run-refs.ts'
import { runRefusalType, runSuccessType } from './run-results.ts'
import { ApprovalDecision, decisionsOf } from './tool-call-outcome.ts'

const SubmitApprovalsSuccess = runSuccessType('SubmitApprovalsSuccess', {
  description: 'The decisions are stored.',
  run: 'The run. `pendingToolCalls` shows what it still waits for.',
})

export const NoPendingApprovalRefusal = runRefusalType('NoPendingApprovalRefusal', {
  description: 'The given tool calls do not wait: they never did, have expired or were cancelled.',
  run: 'Run of the tool calls.',
})

const InvalidToolCallIdsRefusal = builder.objectRef<{
  readonly type: 'InvalidToolCallIdsRefusal'
  readonly message: string
  readonly invalidIds: readonly string[]
  readonly expectedIds: readonly string[]
}>('InvalidToolCallIdsRefusal')
InvalidToolCallIdsRefusal.implement({
  description: 'Other calls of the run wait, but some of the given ids are not among them, or were given twice.',
  interfaces: [Refusal],
  fields: (t) => ({
    invalidIds: t.idList({
      description: 'Ids that were given and are not valid.',
      resolve: (refusal) => [...refusal.invalidIds],
    }),
    expectedIds: t.idList({
      description: 'Ids of the waiting tool calls.',
      resolve: (refusal) => [...refusal.expectedIds],
    }),
  }),
})

export const AlreadyDecidedRefusal = builder.objectRef<{
  readonly type: 'AlreadyDecidedRefusal'
  readonly message: string
  readonly toolCallIds: readonly string[]
}>('AlreadyDecidedRefusal')
AlreadyDecidedRefusal.implement({
  description: 'A different decision was already made. The same decision again is not refused.',
  interfaces: [Refusal],
  fields: (t) => ({
    decisions: t.field({
      type: [ApprovalDecision],
      description: 'The decisions that stand: what was decided, by whom and when.',
      resolve: async ({ toolCallIds }, _args, { loaders }) => {
        const calls = await Promise.all(toolCallIds.map((id) => loadExisting(loaders.toolCalls, 'ToolCall', id)))
        return decisionsOf(calls)
      },
    }),
  }),
})

const SelfApprovalRefusal = builder.objectRef<{
  readonly type: 'SelfApprovalRefusal'
  readonly message: string
  readonly toolCallIds: readonly string[]
}>('SelfApprovalRefusal')
SelfApprovalRefusal.implement({
  description: 'The viewer started the run, and the tool excludes the sender from approving.',
  interfaces: [Refusal],
  fields: (t) => ({
    toolCalls: t.field({
      type: [ToolCall],
      description: 'Tool calls that the viewer may not approve.',
      resolve: ({ toolCallIds }, _args, { loaders }) =>
        Promise.all(toolCallIds.map((id) => loadExisting(loaders.toolCalls, 'ToolCall', id))),
    }),
  }),
})

const ArgumentProblemType = builder.objectRef<ArgumentProblem>('ArgumentProblem')
ArgumentProblemType.implement({
  description: 'One problem in edited arguments.',
  fields: (t) => ({
    path: t.exposeString('path', { description: 'JSON Pointer to the value in the arguments.' }),
    message: t.exposeString('message', { description: 'What is wrong and what was expected.' }),
  }),
})

const InvalidArgumentsRefusal = builder.objectRef<{
  readonly type: 'InvalidArgumentsRefusal'
  readonly message: string
  readonly toolCallId: string
  readonly problems: readonly ArgumentProblem[]
}>('InvalidArgumentsRefusal')
InvalidArgumentsRefusal.implement({
  description: "The edited arguments do not match the tool's schema or the tool rules.",
  interfaces: [Refusal],
  fields: (t) => ({
    toolCall: t.field({
      type: ToolCall,
      description: 'Tool call whose arguments were edited.',
      resolve: ({ toolCallId }, _args, { loaders }) => loadExisting(loaders.toolCalls, 'ToolCall', toolCallId),
    }),
    problems: t.field({
      type: [ArgumentProblemType],
      description: 'What is wrong with the arguments.',
      resolve: (refusal) => [...refusal.problems],
    }),
  }),
})

export const SubmitApprovalsResult = builder.unionType('SubmitApprovalsResult', {
  description: 'Result of `submitApprovals`.',
  types: [
    SubmitApprovalsSuccess,
    NoPendingApprovalRefusal,
    InvalidToolCallIdsRefusal,
    AlreadyDecidedRefusal,
    SelfApprovalRefusal,
    InvalidArgumentsRefusal,
  ],
  resolveType: (result) => result.type,
})
