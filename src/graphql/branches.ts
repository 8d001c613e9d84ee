import { editMessage } from '../commands/edit-message.ts'
import { regenerate } from '../commands/regenerate.ts'
import { selectBranch } from '../commands/conversations/select-branch.ts'
import { namedFiles, type OfferedUpload } from '../domain/context/offered-content.ts'
import { checkedMessage, checkedToken, checkedWait } from '../domain/runs/run-input.ts'
import { waitForRun } from '../live/wait-for-run.ts'
import { isHoldOnBranch } from '../store/conversations/branches.ts'
import { builder } from './builder.ts'
import { conversationResult, conversationSuccessType } from './conversation-results.ts'
import { NewMessageInput } from './conversations/given-message.ts'
import { loadExisting } from './load-existing.ts'
import { requireUuid } from './node.ts'
import { Run } from './run-refs.ts'
import {
  admissionResult,
  ConversationBusyRefusal,
  heldRefusal,
  PendingApprovalRefusal,
  runSuccessType,
} from './run-results.ts'

builder.objectFields(Run, (t) => ({
  previousRun: t.field({
    type: Run,
    nullable: true,
    description:
      'Run before this one on its branch. Null if there is none, or if this run has not held the conversation yet.',
    resolve: (run, _args, { loaders }) => loaders.previousRun.load(run.id),
  }),
  versions: t.field({
    type: [Run],
    description:
      'All versions of this turn, oldest first, including this run. There is more than one after `editMessage` or `regenerate`; the one with `onCurrentBranch` is current. At most 1,000: beyond that, the oldest ones are left out, but not this run.',
    resolve: async (run, _args, { loaders }) => [...(await loaders.versionsOfRun.load(run.id))],
  }),
  onCurrentBranch: t.boolean({
    description:
      'Whether the run is on the current branch of its conversation. False for a run that has not held the conversation.',
    resolve: async (run, _args, { loaders }) => {
      const { offBranch } = await loadExisting(loaders.conversationHeads, 'Conversation', run.conversationId)
      return isHoldOnBranch(offBranch, run.hold)
    },
  }),
}))

const waitMsField = {
  required: true,
  defaultValue: 0,
  description: 'How long to wait for the run to pause or end before answering. Defaults to 0, at most 300,000.',
} as const
const keyField = {
  description: '1 to 200 characters. The same key and input within 24 hours return the same run.',
} as const

const EditMessageInput = builder.inputType('EditMessageInput', {
  description: 'A replacement for an input message of a turn.',
  fields: (t) => ({
    messageId: t.id({
      required: true,
      description: "Id of a user or system message that is part of a run's input.",
    }),
    message: t.field({
      type: NewMessageInput,
      required: true,
      description: 'The new message. Other input messages of the turn are repeated unchanged.',
    }),
    waitMs: t.int(waitMsField),
    idempotencyKey: t.string(keyField),
  }),
})

const RegenerateInput = builder.inputType('RegenerateInput', {
  description: 'The turn to answer again.',
  fields: (t) => ({
    runId: t.id({
      required: true,
      description: 'Id of the run to make another version of. It must have input and must have started.',
    }),
    waitMs: t.int(waitMsField),
    idempotencyKey: t.string(keyField),
  }),
})

const SelectBranchInput = builder.inputType('SelectBranchInput', {
  description: 'The branch to make current.',
  fields: (t) => ({
    runId: t.id({ required: true, description: 'Id of a run on the branch, for example one of `Run.versions`.' }),
  }),
})

const newVersion = {
  description: 'The new version of the turn is current and will be processed.',
  run: 'Run of the new version.',
}

const EditMessageResult = builder.unionType('EditMessageResult', {
  description: 'Result of `editMessage`.',
  types: [runSuccessType('EditMessageSuccess', newVersion), PendingApprovalRefusal, ConversationBusyRefusal],
  resolveType: ({ type }) => type,
})

const RegenerateResult = builder.unionType('RegenerateResult', {
  description: 'Result of `regenerate`.',
  types: [runSuccessType('RegenerateSuccess', newVersion), PendingApprovalRefusal, ConversationBusyRefusal],
  resolveType: ({ type }) => type,
})

const SelectBranchResult = builder.unionType('SelectBranchResult', {
  description: 'Result of `selectBranch`.',
  types: [
    conversationSuccessType('SelectBranchSuccess', {
      description: 'The branch is current.',
      conversation: 'The conversation.',
    }),
    PendingApprovalRefusal,
    ConversationBusyRefusal,
  ],
  resolveType: ({ type }) => type,
})

builder.mutationFields((t) => ({
  editMessage: t.field({
    type: EditMessageResult,
    nullable: true,
    description:
      'Starts a new version of a turn with one of its input messages replaced. The new run uses the client tools, limits, response schema and metadata of the original run.',
    args: { input: t.arg({ type: EditMessageInput, required: true, description: 'The message and its replacement.' }) },
    resolve: async (_root, { input }, context) => {
      const waitMs = checkedWait('input.waitMs', input.waitMs)
      const brought: OfferedUpload[] = []
      const message = checkedMessage('input.message', input.message, brought)
      const outcome = await editMessage(context, context.viewer, {
        messageId: requireUuid('Message', input.messageId),
        message,
        files: { named: namedFiles(message.content), brought },
        idempotencyKey: checkedToken('input.idempotencyKey', input.idempotencyKey),
      })
      if (outcome.outcome === 'accepted') await waitForRun(context, outcome.runId, { waitMs, isNew: outcome.isNew })
      return admissionResult(outcome, 'EditMessageSuccess')
    },
  }),
  regenerate: t.field({
    type: RegenerateResult,
    nullable: true,
    description:
      'Starts a new version of a turn with the same input, for another answer. The new run uses the client tools, limits, response schema and metadata of the original run.',
    args: { input: t.arg({ type: RegenerateInput, required: true, description: 'The turn to answer again.' }) },
    resolve: async (_root, { input }, context) => {
      const waitMs = checkedWait('input.waitMs', input.waitMs)
      const outcome = await regenerate(context, context.viewer, {
        runId: requireUuid('Run', input.runId),
        idempotencyKey: checkedToken('input.idempotencyKey', input.idempotencyKey),
      })
      if (outcome.outcome === 'accepted') await waitForRun(context, outcome.runId, { waitMs, isNew: outcome.isNew })
      return admissionResult(outcome, 'RegenerateSuccess')
    },
  }),
  selectBranch: t.field({
    type: SelectBranchResult,
    nullable: true,
    description:
      'Makes the branch with a given run current. Where later turns have several versions, the one that was current last is chosen.',
    args: { input: t.arg({ type: SelectBranchInput, required: true, description: 'The branch to make current.' }) },
    resolve: async (_root, { input }, context) => {
      const outcome = await selectBranch(context, context.viewer, { runId: requireUuid('Run', input.runId) })
      return outcome.outcome === 'selected'
        ? conversationResult('SelectBranchSuccess', outcome.conversationId)
        : heldRefusal(outcome)
    },
  }),
}))
