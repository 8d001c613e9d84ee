import { useState, type ReactNode } from 'react'

interface FoldedProps {
  readonly summary: ReactNode
  readonly className?: string
  readonly children: ReactNode
}

/** Details that are made when someone opens them: what is folded away is neither in the document nor paid for. */
export function Folded({ summary, className, children }: FoldedProps): ReactNode {
  const [isOpen, setOpen] = useState(false)
  return (
    <details className={className} open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{summary}</summary>
      {isOpen && children}
    </details>
  )
}
