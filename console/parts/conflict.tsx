import type { ReactNode } from 'react'

import { Button } from './button.tsx'
import { Problem } from './problem.tsx'

interface ConflictProps {
  /** What someone else has changed. */
  readonly children: ReactNode
  readonly isBusy: boolean
  readonly onTake: () => void
  readonly onReplace: () => void
}

/** Someone else has changed what the person wants to save. The person decides which of the two stays. */
export function Conflict({ children, isBusy, onTake, onReplace }: ConflictProps): ReactNode {
  return (
    <Problem>
      {children}
      <div className="row">
        <Button onClick={onTake}>Take theirs</Button>
        <Button look="danger" isBusy={isBusy} onClick={onReplace}>
          Replace with mine
        </Button>
      </div>
    </Problem>
  )
}
