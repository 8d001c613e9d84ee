import { useEffect, useRef, useState } from 'react'

/** A value that changes often, as it was at most this long ago. */
export function useThrottled<Value>(value: Value, pauseMs: number): Value {
  const [shown, setShown] = useState(value)
  const changedAt = useRef(-Infinity)
  useEffect(() => {
    if (shown === value) return undefined
    const change = (): void => {
      changedAt.current = performance.now()
      setShown(value)
    }
    const timer = setTimeout(change, changedAt.current + pauseMs - performance.now())
    return () => clearTimeout(timer)
  }, [value, shown, pauseMs])
  return shown
}
