import { useLayoutEffect, useRef, type RefObject } from 'react'

/** For a field that is as high as its text, up to the `max-height` that it has. */
export function useGrowing(text: string): RefObject<HTMLTextAreaElement | null> {
  const area = useRef<HTMLTextAreaElement>(null)
  useLayoutEffect(() => {
    if (!area.current) return
    const { style } = area.current
    style.height = 'auto'
    style.height = `${area.current.scrollHeight}px`
  }, [text])
  return area
}
