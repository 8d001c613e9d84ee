import { useRef } from 'react'

import { useConnection } from '../../react/use-connection.ts'

/** How often a lost connection has come back. What is shown may be too old then, and what failed may succeed. */
export function useReturns(): number {
  const status = useConnection()
  const seen = useRef({ isLost: false, times: 0 })
  if (status === 'RECONNECTING') seen.current.isLost = true
  else if (status === 'CONNECTED' && seen.current.isLost)
    seen.current = { isLost: false, times: seen.current.times + 1 }
  return seen.current.times
}
