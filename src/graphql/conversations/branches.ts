import { editMessage, regenerate } from '../../commands/conversations/start-version.ts'
import { keyedInput } from '../../commands/idempotency.ts'
import { selectBranch } from '../../commands/conversations/select-branch.ts'
import { namedFiles, type OfferedUpload } from '../../domain/context/offered-content.ts'
import { checkedMessage, checkedWait } from '../../domain/runs/run-input.ts'
import { isHoldOnBranch } from '../../store/conversations/branches.ts'
import { builder, orNull } from '../builder.ts'
import { conversationResult, conversationSuccessType } from './fork-conversation.ts'
import { NewMessageInput } from './given-message.ts'
import { loadExisting } from '../load-existing.ts'
import { idempotencyKeyField, mutation, outcomes } from '../mutation.ts'
import { requireUuid } from '../node.ts'
import { waitMsField } from '../runs/run-arguments.ts'
import { Run } from '../refs.ts'
import {
  admissionResult,
  ConversationBusyRefusal,
  heldRefusal,
  PendingApprovalRefusal,
  runSuccessType,
} from '../runs/run-results.ts'

builder.objectFields(Run, (t) => ({
  previousRun: t.field({
    ...orNull(
      'Run before this one on its branch. Null if there is none, or if this run has not held the conversation yet.',
      Run,
    ),
    resolve: (run, _args, { loaders }) => loaders.previousRun.load(run.id),
  }),
  versions: t.field({
    type: [Run],
    description:
      'All versions of this turn, oldest first, including this run. There is more than one after `editMessage` or `regenerate`; the one with `onCurrentBranch` is current. At most 1,000: beyond that, the oldest ones are left out, but not this run.',
    resolve: (run, _args, { loaders }) => loaders.versionsOfRun.load(run.id),
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

const newVersion = {
  description: 'The new version of the turn is current and will be processed.',
  run: 'Run of the new version.',
}

mutation('editMessage', {
  description:
    'Starts a new version of a turn with one of its input messages replaced. The new run uses the client tools, limits, response schema and metadata of the original run.',
  input: {
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
      idempotencyKey: t.string(idempotencyKeyField),
    }),
  },
  result: outcomes([runSuccessType('EditMessageSuccess', newVersion), PendingApprovalRefusal, ConversationBusyRefusal]),
  async resolve(input, context) {
    const waitMs = checkedWait('input.waitMs', input.waitMs)
    const brought: OfferedUpload[] = []
    const message = checkedMessage('input.message', input.message, brought)
    const outcome = await editMessage(context, context.viewer, {
      messageId: requireUuid('Message', input.messageId),
      message,
      files: { named: namedFiles(message.content), brought },
      keyed: keyedInput(context.viewer, 'editMessage', input),
    })
    return admissionResult(context, outcome, { success: 'EditMessageSuccess', waitMs })
  },
})

mutation('regenerate', {
  description:
    'Starts a new version of a turn with the same input, for another answer. The new run uses the client tools, limits, response schema and metadata of the original run.',
  input: {
    description: 'The turn to answer again.',
    fields: (t) => ({
      runId: t.id({
        required: true,
        description: 'Id of the run to make another version of. It must have input and must have started.',
      }),
      waitMs: t.int(waitMsField),
      idempotencyKey: t.string(idempotencyKeyField),
    }),
  },
  result: outcomes([runSuccessType('RegenerateSuccess', newVersion), PendingApprovalRefusal, ConversationBusyRefusal]),
  async resolve(input, context) {
    const waitMs = checkedWait('input.waitMs', input.waitMs)
    const outcome = await regenerate(context, context.viewer, {
      runId: requireUuid('Run', input.runId),
      keyed: keyedInput(context.viewer, 'regenerate', input),
    })
    return admissionResult(context, outcome, { success: 'RegenerateSuccess', waitMs })
  },
})

const SelectBranchSuccess = conversationSuccessType('SelectBranchSuccess', {
  description: 'The branch is current.',
  conversation: 'The conversation.',
})

mutation('selectBranch', {
  description:
    'Makes the branch with a given run current. Where later turns have several versions, the one that was current last is chosen.',
  input: {
    description: 'The branch to make current.',
    fields: (t) => ({
      runId: t.id({ required: true, description: 'Id of a run on the branch, for example one of `Run.versions`.' }),
    }),
  },
  result: outcomes([SelectBranchSuccess, PendingApprovalRefusal, ConversationBusyRefusal]),
  async resolve(input, context) {
    const outcome = await selectBranch(context, context.viewer, { runId: requireUuid('Run', input.runId) })
    return outcome.outcome === 'selected'
      ? conversationResult('SelectBranchSuccess', outcome.conversationId)
      : heldRefusal(outcome)
  },
})
