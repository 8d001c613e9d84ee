import { retryRun } from '../commands/retry-run.ts'
import { builder } from './builder.ts'
import type { Context } from './context.ts'
import { requireUuid } from './node.ts'
import { conversationBusy, ConversationBusyRefusal, runRefusalType, runSuccessType } from './run-results.ts'

const RetryRunInput = builder.inputType('RetryRunInput', {
  description: 'Which run to take up again.',
  fields: (t) => ({ runId: t.id({ required: true, description: 'A failed run: the latest of its conversation.' }) }),
})

const RetryRunSuccess = runSuccessType('RetryRunSuccess', {
  description: 'The run goes on from its last stored step.',
  run: 'The run.',
})

const RunNotRetryableRefusal = runRefusalType('RunNotRetryableRefusal', {
  description:
    'Only the latest run of a conversation can be retried, only if it failed, and only if nothing was compacted since.',
  run: 'The run, which stays as it is.',
})

const RetryRunResult = builder.unionType('RetryRunResult', {
  description: 'What `retryRun` came to.',
  types: [RetryRunSuccess, RunNotRetryableRefusal, ConversationBusyRefusal],
  resolveType: (result) => result.type,
})

builder.mutationField('retryRun', (t) =>
  t.field({
    type: RetryRunResult,
    nullable: true,
    description: 'Takes a failed run up again from its last stored step.',
    args: { input: t.arg({ type: RetryRunInput, required: true, description: 'Which run.' }) },
    resolve: (_root, { input }, context) => retry(context, requireUuid('Run', input.runId)),
  }),
)

async function retry(context: Context, runId: string) {
  const outcome = await retryRun(context, context.viewer, { runId })
  switch (outcome.outcome) {
    case 'accepted':
      return { type: 'RetryRunSuccess' as const, runId: outcome.runId }
    case 'not retryable':
      return { type: 'RunNotRetryableRefusal' as const, runId: outcome.runId, message: outcome.message }
    case 'busy':
      return conversationBusy(outcome.runId)
    default:
      return outcome satisfies never
  }
}
