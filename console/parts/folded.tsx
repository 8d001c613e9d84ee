import { useState, type ReactNode } from 'react'

interface FoldedProps {
  readonly summary: ReactNode
  readonly className?: string
  readonly children: ReactNode
}

/** Details that are rendered when someone opens them, so that folded ones cost nothing. */
export function Folded({ summary, className, children }: FoldedProps): ReactNode {
  const [isOpen, setOpen] = useState(false)
  return (
    <details className={className} open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{summary}</summary>
      {isOpen && children}
    </details>
  )
}
