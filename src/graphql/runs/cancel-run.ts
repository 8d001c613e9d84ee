import { cancelRun, type CancelRunInput as CancelRunCommand } from '../../commands/runs/cancel-run.ts'
import { builder } from '../builder.ts'
import { given, id, objectType } from '../fields.ts'
import { mutation, outcomes } from '../mutation.ts'
import { requireUuid } from '../node.ts'
import { refusalType } from '../refusal.ts'
import { runOfOutcome } from './run-results.ts'

const CancelRunInput = builder.inputType('CancelRunInput', {
  description: 'The run to cancel.',
  isOneOf: true,
  fields: given({
    runId: id('Id of the run.'),
    agentId: id('Id of an agent: cancels the active run of its main conversation.'),
    conversationId: id('Id of a conversation: cancels its active run.'),
  }),
})

export const RunFinishedRefusal = refusalType('RunFinishedRefusal', {
  description: 'The run has already ended.',
  says: 'The run has already ended.',
  fields: { run: runOfOutcome('The run, which has ended.') },
})

mutation('cancelRun', {
  description: 'Cancels a run in any state. Answers when the run has ended, or after 2 seconds.',
  input: CancelRunInput,
  result: outcomes({
    cancelled: objectType('CancelRunSuccess', {
      description: 'The cancel was accepted.',
      fields: {
        run: runOfOutcome('The run: CANCELLED, or CANCELLING if its worker needs more than 2 seconds to stop.'),
      },
    }),
    finished: RunFinishedRefusal,
    'nothing to cancel': refusalType('NothingToCancelRefusal', {
      description: 'The agent or conversation has no active run.',
      says: 'No run is active, so there is nothing to cancel.',
      fields: {},
    }),
  }),
  resolve: (input, context) => cancelRun(context, context.viewer, toCommand(input)),
})

function toCommand(input: typeof CancelRunInput.$inferInput): CancelRunCommand {
  if (typeof input.runId === 'string') return { runId: requireUuid('Run', input.runId) }
  if (typeof input.agentId === 'string') return { agentId: requireUuid('Agent', input.agentId) }
  return { conversationId: requireUuid('Conversation', input.conversationId ?? '') }
}
