import { cancelRun, type CancelRunInput as CancelRunCommand } from '../../commands/runs/cancel-run.ts'
import { builder } from '../builder.ts'
import { mutation, outcomes } from '../mutation.ts'
import { requireUuid } from '../node.ts'
import { refusalType } from '../refusal.ts'
import { runRefusalType, runSuccessType } from './run-results.ts'

const CancelRunInput = builder.inputType('CancelRunInput', {
  description: 'The run to cancel.',
  isOneOf: true,
  fields: (t) => ({
    runId: t.id({ description: 'Id of the run.' }),
    agentId: t.id({ description: 'Id of an agent: cancels the active run of its main conversation.' }),
    conversationId: t.id({ description: 'Id of a conversation: cancels its active run.' }),
  }),
})

const CancelRunSuccess = runSuccessType('CancelRunSuccess', {
  description: 'The cancel was accepted.',
  run: 'The run: CANCELLED, or CANCELLING if its worker needs more than 2 seconds to stop.',
})

export const RunFinishedRefusal = runRefusalType('RunFinishedRefusal', {
  description: 'The run has already ended.',
  run: 'The run, which has ended.',
})

const NothingToCancelRefusal = refusalType('NothingToCancelRefusal', 'The agent or conversation has no active run.')

mutation('cancelRun', {
  description: 'Cancels a run in any state. Answers when the run has ended, or after 2 seconds.',
  input: CancelRunInput,
  result: outcomes([CancelRunSuccess, RunFinishedRefusal, NothingToCancelRefusal]),
  async resolve(input, context) {
    const outcome = await cancelRun(context, context.viewer, toCommand(input))
    switch (outcome.outcome) {
      case 'cancelled':
        return { type: 'CancelRunSuccess' as const, runId: outcome.runId }
      case 'finished':
        return {
          type: 'RunFinishedRefusal' as const,
          runId: outcome.runId,
          message: 'The run has already ended, so there is nothing to cancel.',
        }
      case 'nothing to cancel':
        return { type: 'NothingToCancelRefusal' as const, message: 'No run is active, so there is nothing to cancel.' }
      default:
        return outcome satisfies never
    }
  },
})

function toCommand(input: typeof CancelRunInput.$inferInput): CancelRunCommand {
  if (typeof input.runId === 'string') return { runId: requireUuid('Run', input.runId) }
  if (typeof input.agentId === 'string') return { agentId: requireUuid('Agent', input.agentId) }
  return { conversationId: requireUuid('Conversation', input.conversationId ?? '') }
}
