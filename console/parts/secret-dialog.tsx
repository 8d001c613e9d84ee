import type { ReactNode } from 'react'

import { Button } from './button.tsx'
import { CopyButton } from './copy-button.tsx'
import { Dialog } from './dialog.tsx'

interface SecretDialogProps {
  readonly title: string
  readonly secret: string
  /** The name of the button that copies it. */
  readonly copy: string
  readonly children: ReactNode
  readonly onClose: () => void
}

/** Shows a secret that cannot be shown again. It does not close by accident. */
export function SecretDialog({ title, secret, copy, children, onClose }: SecretDialogProps): ReactNode {
  return (
    <Dialog title={title} isHeld onClose={onClose}>
      <div className="stack">
        <p>{children}</p>
        <div className="secret">
          <span data-testid="secret">{secret}</span>
          <CopyButton text={secret} label={copy} />
        </div>
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  )
}
