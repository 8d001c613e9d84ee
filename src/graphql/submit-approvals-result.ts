import type { ArgumentProblem } from '../commands/submit-approvals.ts'
import { builder } from './builder.ts'
import { loadExisting } from './load-existing.ts'
import { Refusal } from './refusal.ts'
import { ToolCall } from './run-refs.ts'
import { runRefusalType, runSuccessType } from './run-results.ts'
import { ApprovalDecision, decisionsOf } from './tool-call-outcome.ts'

const SubmitApprovalsSuccess = runSuccessType('SubmitApprovalsSuccess', {
  description: '`run.pendingToolCalls` shows what still waits.',
  run: 'The run that was decided about.',
})

export const NoPendingApprovalRefusal = runRefusalType('NoPendingApprovalRefusal', {
  description: 'No tool call is awaiting approval.',
  run: 'The run that waits for nothing.',
})

const InvalidToolCallIdsRefusal = builder.objectRef<{
  readonly type: 'InvalidToolCallIdsRefusal'
  readonly message: string
  readonly invalidIds: readonly string[]
  readonly expectedIds: readonly string[]
}>('InvalidToolCallIdsRefusal')
InvalidToolCallIdsRefusal.implement({
  description: 'Some of the tool call ids are not pending in this run. Nothing was applied.',
  interfaces: [Refusal],
  fields: (t) => ({
    invalidIds: t.idList({
      description: 'Those of the given ids that are not pending, or were given twice.',
      resolve: (refusal) => [...refusal.invalidIds],
    }),
    expectedIds: t.idList({ description: 'The ids that are pending.', resolve: (refusal) => [...refusal.expectedIds] }),
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
  description: "A place in edited arguments that doesn't fit.",
  fields: (t) => ({
    path: t.exposeString('path', { description: 'A JSON Pointer into the arguments.' }),
    message: t.exposeString('message', { description: 'What is wrong there.' }),
  }),
})

const InvalidArgumentsRefusal = builder.objectRef<{
  readonly type: 'InvalidArgumentsRefusal'
  readonly message: string
  readonly toolCallId: string
  readonly problems: readonly ArgumentProblem[]
}>('InvalidArgumentsRefusal')
InvalidArgumentsRefusal.implement({
  description: "Edited arguments don't fit the tool's schema or the tool rules. Nothing was applied.",
  interfaces: [Refusal],
  fields: (t) => ({
    toolCall: t.field({
      type: ToolCall,
      description: 'The call whose arguments were edited.',
      resolve: ({ toolCallId }, _args, { loaders }) => loadExisting(loaders.toolCalls, 'ToolCall', toolCallId),
    }),
    problems: t.field({
      type: [ArgumentProblemType],
      description: 'What is wrong with them.',
      resolve: (refusal) => [...refusal.problems],
    }),
  }),
})

export const SubmitApprovalsResult = builder.unionType('SubmitApprovalsResult', {
  description: 'What `submitApprovals` came to.',
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
