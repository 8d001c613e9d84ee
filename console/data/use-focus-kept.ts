import { useLayoutEffect, useRef, type RefObject } from 'react'

/**
 * Keeps the place of whoever works with the keyboard. When a form closes, the focus returns to the button that opened
 * it, the one whose `data-opens` is the form's mode. When that is not there either, it stays around that place.
 */
export function useFocusKept<Root extends HTMLElement = HTMLDivElement>(mode = ''): RefObject<Root | null> {
  const root = useRef<Root>(null)
  const lastMode = useRef(mode)
  // Found while rendering. Afterwards the element that has the focus now may be gone, and the root with it.
  const isWithin = root.current?.contains(document.activeElement) ?? false
  const around = isWithin ? root.current?.closest<HTMLElement>('[tabindex]') : undefined
  useLayoutEffect(() => {
    if (isWithin && document.activeElement === document.body) {
      const opener = root.current?.querySelector<HTMLElement>(`[data-opens='${lastMode.current}']`)
      if (opener) opener.focus()
      else around?.focus({ preventScroll: true })
    }
    lastMode.current = mode
  })
  useLayoutEffect(
    () => () => {
      if (!root.current?.contains(document.activeElement)) return
      root.current.closest<HTMLElement>('[tabindex]')?.focus({ preventScroll: true })
    },
    [],
  )
  return root
}
