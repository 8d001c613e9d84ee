import { useEffect, useState } from 'react'

const types = ['dragover', 'dragleave', 'drop'] as const

/**
 * Takes files that are dropped anywhere on the page, for which the browser would leave the page. Returns whether files
 * are over it.
 */
export function useFileDrop(onFiles: (files: FileList) => void): boolean {
  const [isOver, setOver] = useState(false)
  useEffect(() => {
    function dragged(event: DragEvent): void {
      if (!event.dataTransfer?.types.includes('Files')) return
      event.preventDefault()
      setOver(event.type === 'dragover')
      if (event.type === 'drop') onFiles(event.dataTransfer.files)
    }
    for (const type of types) addEventListener(type, dragged)
    return () => {
      for (const type of types) removeEventListener(type, dragged)
    }
  })
  return isOver
}
