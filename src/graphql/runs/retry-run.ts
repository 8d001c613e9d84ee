import { retryRun } from '../../commands/runs/retry-run.ts'
import { mutation, outcomes } from '../mutation.ts'
import { requireUuid } from '../node.ts'
import { conversationBusy, ConversationBusyRefusal, runRefusalType, runSuccessType } from './run-results.ts'

const RetryRunSuccess = runSuccessType('RetryRunSuccess', {
  description: 'The run is queued again.',
  run: 'The run, queued again.',
})

const RunNotRetryableRefusal = runRefusalType('RunNotRetryableRefusal', {
  description:
    'The run cannot be retried. It must be the last run of the current branch and FAILED, with no compaction since.',
  run: 'The run.',
})

mutation('retryRun', {
  description: 'Continues a failed run from its last stored step.',
  input: {
    description: 'The run to retry.',
    fields: (t) => ({ runId: t.id({ required: true, description: 'Id of the run.' }) }),
  },
  result: outcomes([RetryRunSuccess, RunNotRetryableRefusal, ConversationBusyRefusal]),
  async resolve(input, context) {
    const runId = requireUuid('Run', input.runId)
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
  },
})
