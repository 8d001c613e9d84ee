import { useSyncExternalStore } from 'react'

import type { Client } from '../client/client.ts'
import { emptyInbox, followInbox, type InboxFollower, type InboxState } from '../client/inbox.ts'
import { useClient } from './client-context.ts'
import { createStore, shareStore, type Store } from './store.ts'

function createInboxStore(client: Client, forget: () => void): Store<InboxState> {
  let follower: InboxFollower | undefined
  return createStore(
    (changed) => {
      follower = followInbox(client, { onChange: changed })
      return () => {
        follower?.stop()
        forget()
      }
    },
    () => follower?.state ?? emptyInbox,
  )
}

/**
 * Everything that waits for a decision or a client's result, oldest first. Decide with `decide(client, call.run.id,
 * …)`.
 */
export function useInbox(): InboxState {
  const client = useClient()
  const store = shareStore(client, 'inbox', (forget) => createInboxStore(client, forget))
  return useSyncExternalStore(store.subscribe, store.getState, () => emptyInbox)
}
