import { useId, useLayoutEffect, useRef, type ReactNode } from 'react'

import { Button } from './button.tsx'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ReactNode
}

/**
 * The browser's own modal dialog: it keeps the focus, and Escape closes it. It begins in its first field. Afterwards
 * the focus returns to where it was.
 */
export function Dialog({ title, onClose, children }: DialogProps): ReactNode {
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
      // React also tells it of a dialog inside.
      onClose={({ target }) => target === ref.current && onClose()}
    >
      <header>
        <h2 id={id}>{title}</h2>
        <Button look="quiet" icon="close" aria-label="Close" onClick={onClose} />
      </header>
      {children}
    </dialog>
  )
}
