import { useSyncExternalStore } from 'react'

import type { Client } from '../client/client.ts'
import type { RunEventFields } from '../client/documents.ts'
import { followRun } from '../client/follow-run.ts'
import type { TranscriptState } from '../client/transcript.ts'
import { useClient } from './client-context.ts'
import { createStore, shareStore, type Store } from './store.ts'

export interface RunState {
  /** Undefined until the first event has arrived. */
  readonly transcript: TranscriptState | undefined
  /** The stored events, in order. */
  readonly events: readonly RunEventFields[]
  /** Whether the run has ended and every event has arrived. */
  readonly isOver: boolean
  /** Set if the server refuses to show the run. */
  readonly error: Error | undefined
}

const empty: RunState = { transcript: undefined, events: [], isOver: false, error: undefined }

function createRunStore(client: Client, runId: string, forget: () => void): Store<RunState> {
  let state = empty
  return createStore(
    (changed) => {
      state = empty
      const set = (part: Partial<RunState>): void => {
        state = { ...state, ...part }
        changed()
      }
      const follower = followRun(client, runId, {
        onEvent: (event) => {
          if ('seq' in event) set({ events: [...state.events, event] })
        },
        onChange: (transcript) => set({ transcript: transcript.state }),
        onEnd: () => set({ isOver: true }),
        onError: (error) => set({ error }),
      })
      return () => {
        follower.stop()
        forget()
      }
    },
    () => state,
  )
}

/** A live run, from its beginning. */
export function useRun(runId: string): RunState {
  const client = useClient()
  const store = shareStore(client, `run ${runId}`, (forget) => createRunStore(client, runId, forget))
  return useSyncExternalStore(store.subscribe, store.getState, () => empty)
}
