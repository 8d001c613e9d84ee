import { cancelRun, type CancelRunInput as CancelRunCommand } from '../commands/cancel-run.ts'
import { builder } from './builder.ts'
import type { Context } from './context.ts'
import { requireUuid } from './node.ts'
import { Refusal } from './refusal.ts'
import { runRefusalType, runSuccessType } from './run-results.ts'

const CancelRunInput = builder.inputType('CancelRunInput', {
  description: "One run, or whatever run is active in the agent's main conversation or in the conversation.",
  isOneOf: true,
  fields: (t) => ({
    runId: t.id({ description: 'This run.' }),
    agentId: t.id({ description: "The run that is active in this agent's main conversation." }),
    conversationId: t.id({ description: 'The run that is active in this conversation.' }),
  }),
})

const CancelRunSuccess = runSuccessType('CancelRunSuccess', {
  description: 'The cancel was accepted.',
  run: 'The run: CANCELLED, or CANCELLING where its worker needs longer than two seconds to wind it down.',
})

const RunFinishedRefusal = runRefusalType('RunFinishedRefusal', {
  description: 'The run has ended.',
  run: 'The run, as it ended.',
})

const NothingToCancelRefusal = builder.objectRef<{
  readonly type: 'NothingToCancelRefusal'
  readonly message: string
}>('NothingToCancelRefusal')
NothingToCancelRefusal.implement({
  description: 'The agent or conversation has no active run.',
  interfaces: [Refusal],
})

const CancelRunResult = builder.unionType('CancelRunResult', {
  description: 'What `cancelRun` came to.',
  types: [CancelRunSuccess, RunFinishedRefusal, NothingToCancelRefusal],
  resolveType: (result) => result.type,
})

builder.mutationField('cancelRun', (t) =>
  t.field({
    type: CancelRunResult,
    nullable: true,
    description: 'Ends a run in whatever state it is. Answers when it has ended, or after two seconds.',
    args: { input: t.arg({ type: CancelRunInput, required: true, description: 'Which run.' }) },
    resolve: (_root, { input }, context) => cancel(context, toCommand(input)),
  }),
)

async function cancel(context: Context, command: CancelRunCommand) {
  const outcome = await cancelRun(context, context.viewer, command)
  switch (outcome.outcome) {
    case 'cancelled':
      return { type: 'CancelRunSuccess' as const, runId: outcome.runId }
    case 'finished':
      return {
        type: 'RunFinishedRefusal' as const,
        runId: outcome.runId,
        message: 'The run has ended: there is nothing left to cancel.',
      }
    case 'nothing to cancel':
      return { type: 'NothingToCancelRefusal' as const, message: 'No run is active: there is nothing to cancel.' }
    default:
      return outcome satisfies never
  }
}

function toCommand(input: typeof CancelRunInput.$inferInput): CancelRunCommand {
  if (input.runId) return { runId: requireUuid('Run', input.runId) }
  if (input.agentId) return { agentId: requireUuid('Agent', input.agentId) }
  return { conversationId: requireUuid('Conversation', input.conversationId ?? '') }
}
