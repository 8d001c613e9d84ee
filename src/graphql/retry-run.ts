import { retryRun } from '../commands/retry-run.ts'
import { builder } from './builder.ts'
import type { Context } from './context.ts'
import { requireUuid } from './node.ts'
import { conversationBusy, ConversationBusyRefusal, runRefusalType, runSuccessType } from './run-results.ts'

const RetryRunInput = builder.inputType('RetryRunInput', {
  description: 'The run to retry.',
  fields: (t) => ({ runId: t.id({ required: true, description: 'Id of the run.' }) }),
})

const RetryRunSuccess = runSuccessType('RetryRunSuccess', {
  description: 'The run is queued again.',
  run: 'The run, queued again.',
})

const RunNotRetryableRefusal = runRefusalType('RunNotRetryableRefusal', {
  description:
    'The run cannot be retried. It must be the last run of the current branch and FAILED, with no compaction since.',
  run: 'The run.',
})

const RetryRunResult = builder.unionType('RetryRunResult', {
  description: 'Result of `retryRun`.',
  types: [RetryRunSuccess, RunNotRetryableRefusal, ConversationBusyRefusal],
  resolveType: (result) => result.type,
})

builder.mutationField('retryRun', (t) =>
  t.field({
    type: RetryRunResult,
    nullable: true,
    description: 'Continues a failed run from its last stored step.',
    args: { input: t.arg({ type: RetryRunInput, required: true, description: 'The run to retry.' }) },
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
