import type { Viewer } from '../domain/access/viewer.ts'
import type { AdmissionOutcome } from './admit.ts'
import type { CommandContext } from './command-context.ts'
import { keyedInput } from './idempotency.ts'
import { startVersion } from './start-version.ts'

export interface RegenerateInput {
  readonly runId: string
  readonly idempotencyKey: string | null
}

/** Starts a new version of a run with the same input. */
export function regenerate(
  context: CommandContext,
  viewer: Viewer,
  { runId, idempotencyKey: key }: RegenerateInput,
): Promise<AdmissionOutcome> {
  const { tenantId } = viewer
  return startVersion(context, viewer, {
    runId,
    field: 'input.runId',
    subject: ['Run', runId],
    keyed: key === null ? undefined : keyedInput({ tenantId, operation: 'REGENERATE', key }, { runId }),
    requestOf: ({ request }) => request,
  })
}
