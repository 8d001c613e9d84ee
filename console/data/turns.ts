import { createContext, useContext } from 'react'

import type { ContentFields } from '../../client/documents.ts'
import type { ConversationTurnsData } from './documents.ts'

export type Turn = NonNullable<ConversationTurnsData['conversation']>['runs']['nodes'][number]

/** What the entries of a conversation can do with their turn. */
export interface Turns {
  /** Undefined until it is known. */
  turnOf(runId: string | null): Turn | undefined
  /** Whether a run holds the conversation. Versions can be created and selected only while none does. */
  readonly isActive: boolean
  /** Each of these rejects with a readable message if the server refuses. */
  edit(messageId: string, text: string, kept: readonly ContentFields[]): Promise<void>
  regenerate(runId: string): Promise<void>
  /** `by` says which of the two buttons was pressed. */
  select(runId: string, by: -1 | 1): Promise<void>
  /** The version that was selected, until it is shown. Its buttons are new, and one of them gets the focus. */
  readonly pagingTo: { current: { readonly runId: string; readonly by: -1 | 1 } | undefined }
  /** Gives the id of a new conversation with everything up to the turn of this message. */
  fork(messageId: string): Promise<string>
}

const TurnsContext = createContext<Turns | undefined>(undefined)

export const TurnsProvider = TurnsContext.Provider

/** Undefined if a conversation is only shown, as in a replay. */
export function useTurns(): Turns | undefined {
  return useContext(TurnsContext)
}
