import { selectBranch } from '../../commands/conversations/select-branch.ts'
import { editMessage, regenerate } from '../../commands/conversations/start-version.ts'
import { keyedInput } from '../../commands/idempotency.ts'
import { namedFiles, type OfferedUpload } from '../../domain/context/offered-content.ts'
import { checkedMessage, checkedWait } from '../../domain/runs/run-input.ts'
import { isHoldOnBranch } from '../../store/conversations/branches.ts'
import { addFields, id, objectType, of } from '../fields.ts'
import { linkTo, loaded, loadExisting } from '../load-existing.ts'
import { idempotencyKeyField, mutation, outcomes } from '../mutation.ts'
import { requireUuid } from '../node.ts'
import { Run } from '../refs.ts'
import { admissionResult, heldOutcomes, runOfOutcome, waitMsField } from '../runs/run-results.ts'
import { Conversation } from './conversation.ts'
import { NewMessageInput } from './given-message.ts'

addFields(Run, (t) => ({
  previousRun: loaded(
    'previousRun',
    of(Run).orNull(
      'Run before this one on its branch. Null if there is none, or if this run has not held the conversation yet.',
    ),
  ),
  versions: loaded(
    'versionsOfRun',
    of([Run])(
      'All versions of this turn, oldest first, including this run. There is more than one after `editMessage` or `regenerate`; the one with `onCurrentBranch` is current. At most 1,000: beyond that, the oldest ones are left out, but not this run.',
    ),
  ),
  onCurrentBranch: t.boolean({
    description:
      'Whether the run is on the current branch of its conversation. False for a run that has not held the conversation.',
    resolve: async (run, _args, { loaders }) => {
      const { offBranch } = await loadExisting(loaders.conversationHeads, 'Conversation', run.conversationId)
      return isHoldOnBranch(offBranch, run.hold)
    },
  }),
}))

/** The outcomes of a mutation that starts another version of a turn. */
function versionOutcomes(success: string) {
  return outcomes({
    accepted: objectType(success, {
      description: 'The new version of the turn is current and will be processed.',
      fields: { run: runOfOutcome('Run of the new version.') },
    }),
    ...heldOutcomes,
  })
}

mutation('editMessage', {
  description:
    'Starts a new version of a turn with one of its input messages replaced. The new run uses the client tools, limits, response schema and metadata of the original run.',
  input: {
    description: 'A replacement for an input message of a turn.',
    fields: {
      messageId: id.required("Id of a user or system message that is part of a run's input."),
      message: of(NewMessageInput).required(
        'The new message. Other input messages of the turn are repeated unchanged.',
      ),
      waitMs: waitMsField,
      idempotencyKey: idempotencyKeyField,
    },
  },
  result: versionOutcomes('EditMessageSuccess'),
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
    return admissionResult(context, outcome, { waitMs })
  },
})

mutation('regenerate', {
  description:
    'Starts a new version of a turn with the same input, for another answer. The new run uses the client tools, limits, response schema and metadata of the original run.',
  input: {
    description: 'The turn to answer again.',
    fields: {
      runId: id.required('Id of the run to make another version of. It must have input and must have started.'),
      waitMs: waitMsField,
      idempotencyKey: idempotencyKeyField,
    },
  },
  result: versionOutcomes('RegenerateSuccess'),
  async resolve(input, context) {
    const waitMs = checkedWait('input.waitMs', input.waitMs)
    const outcome = await regenerate(context, context.viewer, {
      runId: requireUuid('Run', input.runId),
      keyed: keyedInput(context.viewer, 'regenerate', input),
    })
    return admissionResult(context, outcome, { waitMs })
  },
})

mutation('selectBranch', {
  description:
    'Makes the branch with a given run current. Where later turns have several versions, the one that was current last is chosen.',
  input: {
    description: 'The branch to make current.',
    fields: {
      runId: id.required('Id of a run on the branch, for example one of `Run.versions`.'),
    },
  },
  result: outcomes({
    selected: objectType('SelectBranchSuccess', {
      description: 'The branch is current.',
      fields: { conversation: linkTo(Conversation, 'conversationId', 'The conversation.') },
    }),
    ...heldOutcomes,
  }),
  resolve: ({ runId }, context) => selectBranch(context, context.viewer, { runId: requireUuid('Run', runId) }),
})
