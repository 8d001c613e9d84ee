import { correctAnswer, endRun } from './advance.ts'
import type { Draft } from './draft.ts'
import { lastStep, type DrivenRun } from './run-state.ts'

/** A run that so many workers died of, with no checkpoint in between, is not given to another. */
export const poisonAfter = 3

/** A run that so many workers died of is driven apart from others like it, so that a further death tells them apart. */
export const suspectAfter = poisonAfter - 1

/** A worker begins to drive a run that it claimed. The first time, the run's input becomes messages. */
export function takeUp(draft: Draft): void {
  const { run } = draft.state
  draft.changeRun({ startedAt: run.startedAt ?? draft.at })
  if (run.status === 'QUEUED') {
    draft.setStatus('RUNNING')
    if (run.firstPosition === null) draft.addGivenMessages(run.request.messages)
    // A retry gives the model another attempt.
    else if (lastStep(draft.state)?.stopReason === 'RESPONSE_SCHEMA_NOT_SATISFIED') correctAnswer(draft)
  }
}

export function isPoison({ deaths }: Pick<DrivenRun, 'deaths'>): boolean {
  return deaths >= poisonAfter
}

/** Fails a run that kills its workers. It can be retried. What the model has not answered leaves the context. */
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
