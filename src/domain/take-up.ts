import { endRun } from './advance.ts'
import type { Draft } from './draft.ts'
import type { DrivenRun } from './run-state.ts'

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

/** Should its worker die once more, the run is given up. */
export function isLastChance(run: Pick<DrivenRun, 'fruitlessAttempts'>): boolean {
  return run.fruitlessAttempts === poisonAfter - 1
}

/** Fails a run that kills its workers. It can be retried; what it was given leaves the context. */
export function failPoisonedRun(draft: Draft, { unanswered }: { readonly unanswered: readonly number[] }): void {
  draft.excludeFromContext(unanswered)
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
