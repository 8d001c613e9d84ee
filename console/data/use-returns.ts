import { useSyncExternalStore } from 'react'

import { useClient } from '../../react/client-context.ts'

/** How often a lost connection has come back. What is shown may be too old then, and what failed may succeed. */
export function useReturns(): number {
  const { connection } = useClient()
  return useSyncExternalStore(connection.onChange, () => connection.returns)
}
