import type { ReactNode } from 'react'

import { useConnection } from '../../react/use-connection.ts'

const labels = { CONNECTING: 'Connecting', CONNECTED: 'Connected', RECONNECTING: 'Reconnecting' } as const

export function Connection(): ReactNode {
  const status = useConnection()
  return (
    <div role="status" aria-label="Connection" className={`connection ${status.toLowerCase()}`}>
      {labels[status]}
    </div>
  )
}
