import { useState, type ReactNode } from 'react'

import { count } from '../data/format.ts'
import { Button } from './button.tsx'

const shownAtFirst = 4_000

/** Plain text, cut if it is very long. */
export function PlainText({ text, label }: { readonly text: string; readonly label: string }): ReactNode {
  const [isWhole, setWhole] = useState(false)
  const isCut = !isWhole && text.length > shownAtFirst
  return (
    <>
      <pre className="plain-text" tabIndex={0} aria-label={label}>
        {isCut ? text.slice(0, shownAtFirst) : text}
      </pre>
      {isCut && (
        <Button look="quiet" onClick={() => setWhole(true)}>
          Show all {count(text.length)} characters
        </Button>
      )}
    </>
  )
}
