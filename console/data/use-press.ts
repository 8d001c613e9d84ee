import { useEffect, useRef, type PointerEvent } from 'react'

/** What ends a press. A menu or another window may take the pointer, and its release is not announced then. */
const ends = ['pointerup', 'pointercancel', 'contextmenu', 'blur'] as const

export interface Press {
  /** Whether a pointer is down on something inside the element. */
  readonly isDown: () => boolean
  readonly onPointerDown: (event: PointerEvent) => void
}

/** Knows whether a person is pressing something inside an element, which should not move until they let go. */
export function usePress(onRelease: () => void): Press {
  const isDown = useRef(false)
  const latest = useRef(onRelease)
  latest.current = onRelease
  useEffect(() => {
    const release = (): void => {
      if (!isDown.current) return
      isDown.current = false
      // The click follows the release, and belongs to what is under the pointer now.
      requestAnimationFrame(() => latest.current())
    }
    for (const type of ends) addEventListener(type, release)
    return () => {
      for (const type of ends) removeEventListener(type, release)
    }
  }, [])
  return {
    isDown: () => isDown.current,
    // A press of the element's own scrollbar has no end that is announced.
    onPointerDown: ({ target, currentTarget }) => (isDown.current = target !== currentTarget),
  }
}
