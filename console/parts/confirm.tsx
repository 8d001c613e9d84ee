import type { ReactNode } from 'react'

import { useAction } from '../data/use-action.ts'
import { useHere } from '../data/use-here.ts'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { Problem } from './problem.tsx'

interface ConfirmProps {
  readonly title: string
  /** The label of the button that does it. */
  readonly verb: string
  /** Does it. The dialog closes afterwards. */
  readonly act: () => Promise<void>
  readonly onClose: () => void
  readonly children: ReactNode
}

/** Asks before something that cannot be undone. */
export function Confirm({ title, verb, act, onClose, children }: ConfirmProps): ReactNode {
  const isHere = useHere()
  const action = useAction(async () => {
    await act()
    if (isHere.current) onClose()
  })
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
