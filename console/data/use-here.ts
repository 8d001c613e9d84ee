import { useCallback, useEffect, useRef } from 'react'
import { useLocation } from 'wouter'

/** Whether the component is still shown. What took a moment must not act on a page that the person has left. */
export function useHere(): { readonly current: boolean } {
  const isHere = useRef(true)
  useEffect(() => {
    isHere.current = true
    return () => {
      isHere.current = false
    }
  }, [])
  return isHere
}

/** Goes to another page, unless the person has gone elsewhere meanwhile. */
export function useGo(): (path: string) => void {
  const [, navigate] = useLocation()
  const isHere = useHere()
  return useCallback((path) => void (isHere.current && navigate(path)), [navigate, isHere])
}
