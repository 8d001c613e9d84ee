import type { IdSource } from '../../util/ids.ts'
import { advance, correctAnswer, endRun, type Effect } from './advance.ts'
import { internalFailure, type RunFailure } from '../context/context-overflow.ts'
import { Draft } from './draft.ts'
import { contentsOf, type NewMessage } from '../conversations/message.ts'
import type { LogEntry } from './run-event.ts'
import { lastStep, type DrivenRun, type RunState } from './run-state.ts'
import type { RunRequest } from './run.ts'
import { noUsage } from '../models/usage.ts'

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

/** What a turn stores if it begins in the statement that accepts it. */
export interface Beginning {
  readonly messages: readonly NewMessage[]
  readonly entries: readonly LogEntry[]
}

/** The same as `takeUp` and `advance` store: the input becomes messages, and the first step starts. */
export function beginningOf({ messages }: RunRequest, ids: IdSource): Beginning {
  const given = messages.map((message): NewMessage => {
    const { role: type, clientId } = message
    return { id: ids.next(), type, stepIndex: null, clientId, content: contentsOf(message) }
  })
  return {
    messages: given,
    entries: [
      { type: 'status', status: 'RUNNING', stopReason: null, error: null, usage: { ...noUsage, steps: 0 } },
      ...given.map(({ id }) => ({ type: 'message', id }) as const),
      { type: 'stepStarted', index: 0 },
    ],
  }
}

/** The state of a run before it began, from what its beginning stored. */
export function beforeBeginning(state: RunState): RunState {
  const { run } = state
  return {
    ...state,
    run: { ...run, status: 'QUEUED', nextSeq: 2, startedAt: null, firstPosition: null, nextPosition: null },
  }
}

/** Begins a run whose beginning is already stored. `messageIds` are the ids of its messages. */
export function begin(
  before: RunState,
  messageIds: readonly string[],
): { readonly draft: Draft; readonly effect: Effect } {
  const { createdAt } = before.run
  const ids = messageIds[Symbol.iterator]()
  const draft = new Draft(before, { clock: { now: () => createdAt }, ids: { next: () => ids.next().value! } })
  takeUp(draft)
  return { draft, effect: advance(draft) }
}

export function isPoison({ deaths }: Pick<DrivenRun, 'deaths'>): boolean {
  return deaths >= poisonAfter
}

/** Why a run is given up: it killed its workers, or the database refuses what it would store next. */
export const givingUp = {
  poison: internalFailure(`The run was given up: ${poisonAfter} workers in a row stopped while driving it.`),
  unstorable: internalFailure('The run was given up: the database refuses to store its next step.'),
}

/** Fails a run. It can be retried. What the model has not answered leaves the context. */
export function giveUp(draft: Draft, failure: RunFailure, unanswered: readonly number[]): void {
  draft.excludeFromContext(unanswered)
  endRun(draft, failure)
}
