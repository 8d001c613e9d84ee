import { retryRun } from '../../commands/runs/retry-run.ts'
import { id, objectType } from '../fields.ts'
import { mutation, outcomes } from '../mutation.ts'
import { requireUuid } from '../node.ts'
import { refusalType } from '../refusal.ts'
import { heldOutcomes, runOfOutcome } from './run-results.ts'

mutation('retryRun', {
  description: 'Continues a failed run from its last stored step.',
  input: { description: 'The run to retry.', fields: { runId: id.required('Id of the run.') } },
  result: outcomes({
    accepted: objectType('RetryRunSuccess', {
      description: 'The run is queued again.',
      fields: { run: runOfOutcome('The run, queued again.') },
    }),
    'not retryable': refusalType('RunNotRetryableRefusal', {
      description:
        'The run cannot be retried. It must be the last run of the current branch and FAILED, with no compaction since.',
      fields: { run: runOfOutcome('The run.') },
    }),
    busy: heldOutcomes.busy,
  }),
  resolve: ({ runId }, context) => retryRun(context, context.viewer, { runId: requireUuid('Run', runId) }),
})
