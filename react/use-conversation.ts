import { useMemo, useSyncExternalStore } from 'react'

import type { ApprovalDecisionInput } from '../client/schema-types.ts'
import { useClient } from './client-context.ts'
import {
  createConversationStore,
  emptyConversation,
  type ConversationActions,
  type ConversationState,
} from './conversation-store.ts'
import { decide, type DecideResult } from '../client/decide.ts'
import { shareStore } from './store.ts'

export interface Conversation extends ConversationState, ConversationActions {
  /** Approves, denies or answers waiting calls of the current run. */
  decide(...decisions: readonly ApprovalDecisionInput[]): Promise<DecideResult>
}

/** A live conversation. Components that use the same one share one subscription. */
export function useConversation(conversationId: string): Conversation {
  const client = useClient()
  const store = shareStore(client, `conversation ${conversationId}`, (forget) =>
    createConversationStore(client, conversationId, forget),
  )
  const state = useSyncExternalStore(store.subscribe, store.getState, () => emptyConversation)
  return useMemo(
    () => ({
      ...state,
      ...store.actions,
      decide: (...decisions) => decide(client, state.latestRun?.id ?? '', decisions),
    }),
    [client, store, state],
  )
}
