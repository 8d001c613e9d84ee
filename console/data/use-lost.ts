import { useEffect, useState } from 'react'

import { useConnection } from '../../react/use-connection.ts'

/** Shorter losses, such as a restart of the server, are not worth a word. */
const graceMs = 1_000

/** Whether the connection is lost, so that what is shown may be out of date. */
export function useLost(): boolean {
  const status = useConnection()
  const [isLost, setLost] = useState(status === 'RECONNECTING')
  useEffect(() => {
    const timer = setTimeout(() => setLost(status === 'RECONNECTING'), status === 'RECONNECTING' ? graceMs : 0)
    return () => clearTimeout(timer)
  }, [status])
  return isLost && status === 'RECONNECTING'
}
