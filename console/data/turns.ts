import { createContext, useContext } from 'react'

import type { ConversationTurnsData } from './documents.ts'

export type Turn = NonNullable<ConversationTurnsData['conversation']>['runs']['nodes'][number]

/** What a conversation's entries can do with the turn that they belong to. */
export interface Turns {
  /** Undefined for a turn that is very old, or has just begun. */
  turnOf(runId: string | null): Turn | undefined
  /** Whether a run holds the conversation: versions can be made and chosen only while none does. */
  readonly isActive: boolean
  /** Each rejects with words for the person if the server refuses. */
  edit(messageId: string, text: string): Promise<void>
  regenerate(runId: string): Promise<void>
  select(runId: string): Promise<void>
}

const TurnsContext = createContext<Turns | undefined>(undefined)

export const TurnsProvider = TurnsContext.Provider

/** Undefined where a conversation is only looked at, as in a replay. */
export function useTurns(): Turns | undefined {
  return useContext(TurnsContext)
}
