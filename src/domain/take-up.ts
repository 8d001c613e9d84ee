import { endRun } from './advance.ts'
import type { Draft } from './draft.ts'

/** A run whose worker died so often in a row, with no checkpoint in between, is not given to another. */
export const poisonAfter = 3

/** A worker takes the run. The first time, its input becomes messages. */
export function takeUp(draft: Draft, holder: { readonly lease: string; readonly workerId: string }): void {
  const { run } = draft.state
  draft.changeRun({
    ...holder,
    attempts: run.attempts + 1,
    fruitlessAttempts: run.fruitlessAttempts + 1,
    startedAt: run.startedAt ?? draft.at,
  })
  if (run.status === 'QUEUED') {
    draft.setStatus('RUNNING')
    if (run.firstPosition === null) draft.addGivenMessages(run.request.messages)
  }
}

/** Fails a run that kills its workers. It can be retried. */
export function failPoisonedRun(draft: Draft): void {
  endRun(draft, {
    stopReason: 'ERROR',
    error: {
      type: 'INTERNAL_ERROR',
      message: `The run was given up: ${poisonAfter} workers in a row stopped while driving it.`,
      detail: null,
      retryable: true,
    },
  })
}
