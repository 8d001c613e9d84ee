import type { ReactNode } from 'react'

import type { Action } from '../data/use-action.ts'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { Problem } from './problem.tsx'

interface ConfirmProps {
  readonly title: string
  /** The label of the button that does it. */
  readonly verb: string
  readonly action: Action<readonly []>
  readonly onClose: () => void
  readonly children: ReactNode
}

/** Asks before something that cannot be undone. */
export function Confirm({ title, verb, action, onClose, children }: ConfirmProps): ReactNode {
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="stack">
        <p>{children}</p>
        <Problem>{action.problem}</Problem>
        <div className="row end">
          <Button onClick={onClose}>Keep it</Button>
          <Button look="danger" isBusy={action.isBusy} onClick={() => action.run()}>
            {verb}
          </Button>
        </div>
      </div>
    </Dialog>
  )
}
