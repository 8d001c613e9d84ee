import { useEffect, useRef, useState } from 'react'

const place = 'holdpoint.text.'

/** Text that a person types, which is still there after a look at another page or a reload, in the same tab. */
export function useKeptText(name: string): [text: string, setText: (text: string) => void] {
  const [text, setText] = useState(() => sessionStorage.getItem(place + name) ?? '')
  const latest = useRef(text)
  latest.current = text
  useEffect(() => {
    function keep(): void {
      try {
        if (latest.current) sessionStorage.setItem(place + name, latest.current)
        else sessionStorage.removeItem(place + name)
      } catch {
        // The browser has no room for it.
      }
    }
    addEventListener('pagehide', keep)
    return () => {
      removeEventListener('pagehide', keep)
      keep()
    }
  }, [name])
  return [text, setText]
}

/** For whoever uses the browser next. */
export function forgetKeptTexts(): void {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(place)) sessionStorage.removeItem(key)
}
