import { useId, useLayoutEffect, useRef, type ReactNode } from 'react'

import { Button } from './button.tsx'

interface DialogProps {
  readonly title: string
  /** Escape must not close it, because what it shows cannot be shown again. Its buttons can. */
  readonly isHeld?: boolean
  readonly onClose: () => void
  readonly children: ReactNode
}

/**
 * The browser's own modal dialog: it keeps the focus, and Escape closes it. It begins in its first field. Afterwards
 * the focus returns to where it was.
 */
export function Dialog({ title, isHeld = false, onClose, children }: DialogProps): ReactNode {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useLayoutEffect(() => {
    const dialog = ref.current!
    dialog.showModal()
    dialog.querySelector<HTMLElement>('input, textarea, select')?.focus()
    return () => dialog.close()
  }, [])
  return (
    <dialog
      ref={ref}
      aria-labelledby={id}
      closedby={isHeld ? 'none' : 'closerequest'}
      // React also tells it of a dialog inside.
      onClose={({ target }) => {
        if (target !== ref.current) return
        // Some browsers do not know `closedby`, and the cancel event cannot stop a second Escape.
        if (isHeld) ref.current.showModal()
        else onClose()
      }}
    >
      <header>
        <h2 id={id}>{title}</h2>
        <Button look="quiet" icon="close" aria-label="Close" onClick={onClose} />
      </header>
      {children}
    </dialog>
  )
}
