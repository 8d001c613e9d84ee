import { useLayoutEffect, useRef, type RefObject } from 'react'

import type { Turns } from './turns.ts'

/**
 * For the buttons that page between the versions of a turn. Another version is another message with buttons of its own,
 * and whoever pages with the keyboard goes on there.
 */
export function usePagingFocus(turns: Turns | undefined, runId: string | null): RefObject<HTMLSpanElement | null> {
  const root = useRef<HTMLSpanElement>(null)
  useLayoutEffect(() => {
    const to = turns?.pagingTo.current
    if (!root.current || to?.runId !== runId) return
    const buttons = [...root.current.querySelectorAll('button')]
    const next = (to.by < 0 ? buttons : buttons.toReversed()).find(({ disabled }) => !disabled)
    // None can be used while a run is under way.
    if (!next) return
    let frame = 0
    const take = (): void => {
      const { activeElement } = document
      // The version that was left may still be there. Whoever went somewhere else meanwhile stays there.
      const isStillHere = activeElement?.contains(root.current) || activeElement?.closest('.versions')
      if (isStillHere) next.focus({ preventScroll: true })
      // An entry is hidden until the log has measured it.
      if (isStillHere && document.activeElement !== next) frame = requestAnimationFrame(take)
      else turns!.pagingTo.current = undefined
    }
    take()
    return () => cancelAnimationFrame(frame)
  })
  return root
}
