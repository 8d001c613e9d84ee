import type { Client } from './client.ts'
import { CallChanges, Inbox, type InboxCallFields, type ToolCallFields } from './documents.ts'
import { keepSubscribed } from './keep-subscribed.ts'
import type { ToolCallNeed } from './schema-types.ts'
import { isCallOver } from './transcript.ts'

export interface InboxState {
  /** Calls that wait, oldest first. */
  readonly calls: readonly InboxCallFields[]
  /**
   * Calls that stopped waiting since this started, newest first, at most 20: with their decision, and then with their
   * outcome.
   */
  readonly settled: readonly InboxCallFields[]
  /** How many calls wait in total. May be more than `calls` has. */
  readonly totalCount: number
  /** False until the first snapshot has arrived. */
  readonly isLoaded: boolean
}

export const emptyInbox: InboxState = { calls: [], settled: [], totalCount: 0, isLoaded: false }

export interface InboxFollower {
  readonly state: InboxState
  stop(): void
}

export interface FollowInboxOptions {
  readonly needs?: readonly ToolCallNeed[]
  readonly onChange?: (state: InboxState) => void
  readonly onError?: (error: Error) => void
}

/** Follows everything that waits for a decision or a client's result, across all agents. */
export function followInbox(client: Client, options: FollowInboxOptions = {}): InboxFollower {
  let state: InboxState = emptyInbox
  /** What stops following a run whose decided calls have no outcome yet. */
  const outcomes = new Map<string, () => void>()

  function change(next: InboxState): void {
    state = next
    const open = new Set(state.settled.filter(({ status }) => !isCallOver(status)).map(({ run }) => run.id))
    for (const [runId, end] of outcomes) if (!open.has(runId) && outcomes.delete(runId)) end()
    for (const runId of open) if (!outcomes.has(runId)) outcomes.set(runId, followOutcomes(runId))
    options.onChange?.(state)
  }

  const followOutcomes = (runId: string): (() => void) =>
    keepSubscribed(client, {
      document: CallChanges,
      variables: () => ({ runId }),
      next: ({ runEvents: event }) => 'toolCall' in event && change(withOutcome(state, event.toolCall)),
      // The decision stays without its outcome.
      refused: () => {},
    })

  const stop = keepSubscribed(client, {
    document: Inbox,
    variables: () => ({ needs: options.needs ?? ['APPROVAL', 'CLIENT_EXECUTION'] }),
    next({ approvalInbox: event }) {
      change(applyToInbox(state, event))
    },
    refused: (error) => options.onError?.(error),
  })
  return {
    get state() {
      return state
    },
    stop() {
      stop()
      for (const end of outcomes.values()) end()
    },
  }
}

type InboxEvent =
  | {
      readonly __typename: 'InboxSnapshot'
      readonly totalCount: number
      readonly toolCalls: readonly InboxCallFields[]
    }
  | { readonly __typename: 'InboxAdded'; readonly toolCall: InboxCallFields }
  | { readonly __typename: 'InboxRemoved'; readonly toolCall: InboxCallFields }

function applyToInbox(state: InboxState, event: InboxEvent): InboxState {
  if (event.__typename === 'InboxSnapshot') {
    return { ...state, calls: event.toolCalls, totalCount: event.totalCount, isLoaded: true }
  }
  const { toolCall } = event
  const others = state.calls.filter(({ id }) => id !== toolCall.id)
  const isKnown = others.length < state.calls.length
  if (event.__typename === 'InboxRemoved') {
    const settled = [toolCall, ...state.settled.filter(({ id }) => id !== toolCall.id)].slice(0, 20)
    // A call that the snapshot did not list is counted too.
    return { ...state, calls: others, settled, totalCount: Math.max(others.length, state.totalCount - 1) }
  }
  const calls = [...others, toolCall].toSorted((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt))
  return { ...state, calls, totalCount: state.totalCount + (isKnown ? 0 : 1) }
}

/** The end of a call is final, and its events may be older than what is known. */
function withOutcome(state: InboxState, { run: _run, ...now }: ToolCallFields): InboxState {
  const settled = state.settled.map((call) =>
    call.id === now.id && !isCallOver(call.status) ? { ...call, ...now } : call,
  )
  return { ...state, settled }
}
