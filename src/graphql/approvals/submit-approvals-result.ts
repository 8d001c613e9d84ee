import type { ArgumentProblem } from '../../commands/approvals/submit-approvals.ts'
import { builder } from '../builder.ts'
import type { Context } from '../context.ts'
import { ids, implement, objectType, of, string } from '../fields.ts'
import { linkTo, loadExisting } from '../load-existing.ts'
import { outcomes } from '../mutation.ts'
import { ToolCall } from '../refs.ts'
import { refusalType } from '../refusal.ts'
import { runOfOutcome } from '../runs/run-results.ts'
import { ApprovalDecision, decisionsOf } from '../tools/tool-call-outcome.ts'

export const NoPendingApprovalRefusal = refusalType('NoPendingApprovalRefusal', {
  description: 'The given tool calls do not wait: they never did, have expired or were cancelled.',
  says: 'No tool call is currently awaiting approval.',
  fields: { run: runOfOutcome('Run of the tool calls.') },
})

interface ToolCallIds {
  readonly toolCallIds: readonly string[]
}

function callsOf({ toolCallIds }: ToolCallIds, { loaders }: Context) {
  return Promise.all(toolCallIds.map((id) => loadExisting(loaders.toolCalls, 'ToolCall', id)))
}

export const AlreadyDecidedRefusal = refusalType('AlreadyDecidedRefusal', {
  description: 'A different decision was already made. The same decision again is not refused.',
  says: 'The tool call already has a result or was denied.',
  fields: {
    decisions: {
      ...of([ApprovalDecision])('The decisions that stand: what was decided, by whom and when.'),
      resolve: async (refusal: ToolCallIds, _args: object, context: Context) =>
        decisionsOf(await callsOf(refusal, context)),
    },
  },
})

const ArgumentProblemType = builder.objectRef<ArgumentProblem>('ArgumentProblem')
implement(ArgumentProblemType, {
  description: 'One problem in edited arguments.',
  fields: () => ({
    path: string('JSON Pointer to the value in the arguments.'),
    message: string('What is wrong and what was expected.'),
  }),
})

export const submitApprovalsResult = outcomes({
  accepted: objectType('SubmitApprovalsSuccess', {
    description: 'The decisions are stored.',
    fields: { run: runOfOutcome('The run. `pendingToolCalls` shows what it still waits for.') },
  }),
  'nothing pending': NoPendingApprovalRefusal,
  'invalid ids': refusalType('InvalidToolCallIdsRefusal', {
    description: 'Other calls of the run wait, but some of the given ids are not among them, or were given twice.',
    fields: {
      invalidIds: ids('Ids that were given and are not valid.'),
      expectedIds: ids('Ids of the waiting tool calls.'),
    },
  }),
  'already decided': AlreadyDecidedRefusal,
  'self approval': refusalType('SelfApprovalRefusal', {
    description: 'The viewer started the run, and the tool excludes the sender from approving.',
    fields: {
      toolCalls: {
        ...of([ToolCall])('Tool calls that the viewer may not approve.'),
        resolve: (refusal: ToolCallIds, _args: object, context: Context) => callsOf(refusal, context),
      },
    },
  }),
  'invalid arguments': refusalType('InvalidArgumentsRefusal', {
    description: "The edited arguments do not match the tool's schema or the tool rules.",
    fields: {
      toolCall: linkTo(ToolCall, 'toolCallId', 'Tool call whose arguments were edited.'),
      problems: of([ArgumentProblemType])('What is wrong with the arguments.'),
    },
  }),
})
