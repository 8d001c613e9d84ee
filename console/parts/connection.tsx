import type { ReactNode } from 'react'

import { useConnection } from '../../react/use-connection.ts'

/** The first connection takes a moment. Its label is shown only if it takes longer. */
const labels = { CONNECTING: 'Reconnecting', CONNECTED: 'Connected', RECONNECTING: 'Reconnecting' } as const

export function Connection(): ReactNode {
  const status = useConnection()
  return (
    <div role="status" aria-label="Connection" className={`connection ${status.toLowerCase()}`}>
      {labels[status]}
    </div>
  )
}
