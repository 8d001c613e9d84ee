import { useSyncExternalStore } from 'react'

import type { ConnectionStatus } from '../client/connection-state.ts'
import { useClient } from './client-context.ts'

/** Whether events arrive. */
export function useConnection(): ConnectionStatus {
  const { connection } = useClient()
  return useSyncExternalStore(
    connection.onChange,
    () => connection.status,
    () => 'CONNECTING',
  )
}
