import { useEffect, useRef, useState } from 'react'

/**
 * Takes files that are dropped anywhere on the page, where the browser would otherwise leave the page for the file.
 * Returns whether files are being dragged over it.
 */
export function useFileDrop(onFiles: (files: FileList) => void): boolean {
  const [isOver, setOver] = useState(false)
  const latest = useRef(onFiles)
  latest.current = onFiles
  useEffect(() => {
    function dragged(event: DragEvent): void {
      if (!event.dataTransfer?.types.includes('Files')) return
      event.preventDefault()
      // It leaves one element after it has entered the next, and the page when there is none.
      setOver(event.type === 'dragover' || (event.type === 'dragleave' && event.relatedTarget !== null))
      if (event.type === 'drop') latest.current(event.dataTransfer.files)
    }
    const types = ['dragover', 'dragleave', 'drop'] as const
    for (const type of types) addEventListener(type, dragged)
    return () => {
      for (const type of types) removeEventListener(type, dragged)
    }
  }, [])
  return isOver
}
