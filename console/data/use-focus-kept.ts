import { useLayoutEffect, useRef, type RefObject } from 'react'

/**
 * Keeps the place of whoever works with the keyboard. When a form closes, the focus returns to the button that opened
 * it, the one whose `data-opens` is the form's mode. When everything goes away, it stays around that place.
 */
export function useFocusKept(mode: string): RefObject<HTMLDivElement | null> {
  const root = useRef<HTMLDivElement>(null)
  const lastMode = useRef(mode)
  useLayoutEffect(() => {
    const opener = root.current?.querySelector<HTMLElement>(`[data-opens=${lastMode.current}]`)
    if (mode !== lastMode.current && document.activeElement === document.body) opener?.focus()
    lastMode.current = mode
  }, [mode])
  useLayoutEffect(
    () => () => {
      if (!root.current?.contains(document.activeElement)) return
      root.current.closest<HTMLElement>('[tabindex]')?.focus({ preventScroll: true })
    },
    [],
  )
  return root
}
