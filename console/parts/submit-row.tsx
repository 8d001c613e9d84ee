import type { ReactNode } from 'react'

import { Button } from './button.tsx'
import { DiscardButton } from './discard-button.tsx'

interface SubmitRowProps {
  readonly form: Parameters<typeof DiscardButton>[0]['form']
  readonly isBusy: boolean
  /** What the button says. */
  readonly children: ReactNode
}

/** The end of a form in a dialog: the button that saves it, and the one that gives it up. */
export function SubmitRow({ form, isBusy, children }: SubmitRowProps): ReactNode {
  return (
    <div className="row">
      <Button look="primary" type="submit" isBusy={isBusy}>
        {children}
      </Button>
      <DiscardButton form={form} />
    </div>
  )
}
