import { correctAnswer, endRun } from './runs/advance.ts'
import type { Draft } from './runs/draft.ts'
import { lastStep, type DrivenRun } from './runs/run-state.ts'

/** After this many workers died driving a run, with no checkpoint in between, the run is failed. */
export const poisonAfter = 3

/**
 * After this many deaths, a run is a suspect: only one suspect is driven at a time, so that the next death can be
 * blamed on one run.
 */
export const suspectAfter = poisonAfter - 1

/** Begins to drive a claimed run. The first time, the run's input becomes messages. */
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
