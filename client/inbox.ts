import type { Client } from './client.ts'
import { Inbox, type InboxCallFields } from './documents.ts'
import { keepSubscribed } from './keep-subscribed.ts'
import type { ToolCallNeed } from './schema-types.ts'

export interface InboxState {
  /** Calls that wait, oldest first. */
  readonly calls: readonly InboxCallFields[]
  /** How many wait in all. More than `calls` has if there are very many. */
  readonly totalCount: number
  /** False until the first snapshot has arrived. */
  readonly isLoaded: boolean
}

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
  let state: InboxState = { calls: [], totalCount: 0, isLoaded: false }
  const stop = keepSubscribed(client, {
    document: Inbox,
    variables: () => ({ needs: options.needs ?? ['APPROVAL', 'CLIENT_EXECUTION'] }),
    next({ approvalInbox: event }) {
      state = applyToInbox(state, event)
      options.onChange?.(state)
    },
    refused: (error) => options.onError?.(error),
  })
  return {
    get state() {
      return state
    },
    stop,
  }
}

type InboxEvent =
  | {
      readonly __typename: 'InboxSnapshot'
      readonly totalCount: number
      readonly toolCalls: readonly InboxCallFields[]
    }
  | { readonly __typename: 'InboxAdded'; readonly toolCall: InboxCallFields }
  | { readonly __typename: 'InboxRemoved'; readonly toolCall: { readonly id: string } }

function applyToInbox(state: InboxState, event: InboxEvent): InboxState {
  if (event.__typename === 'InboxSnapshot')
    return { calls: event.toolCalls, totalCount: event.totalCount, isLoaded: true }
  const { id } = event.toolCall
  const isKnown = state.calls.some((call) => call.id === id)
  if (event.__typename === 'InboxRemoved') {
    // A call beyond the snapshot's list is counted too.
    return {
      ...state,
      calls: state.calls.filter((call) => call.id !== id),
      totalCount: Math.max(0, state.totalCount - 1),
    }
  }
  const calls = isKnown
    ? state.calls.map((call) => (call.id === id ? event.toolCall : call))
    : [...state.calls, event.toolCall].toSorted((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt))
  return { ...state, calls, totalCount: state.totalCount + (isKnown ? 0 : 1) }
}
