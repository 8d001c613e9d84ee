import { useId, useRef, type ReactNode } from 'react'

import { Button } from './button.tsx'

interface MenuProps {
  readonly label: string
  /** Buttons. Pressing one closes the menu. */
  readonly children: ReactNode
}

/** Further actions behind one button. Escape and a click elsewhere close it. */
export function Menu({ label, children }: MenuProps): ReactNode {
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  return (
    <>
      <Button
        look="quiet"
        icon="more"
        aria-label={label}
        title={label}
        popoverTarget={id}
        onClick={(event) => {
          const { bottom, right } = event.currentTarget.getBoundingClientRect()
          Object.assign(list.current!.style, { top: `${bottom + 4}px`, right: `${innerWidth - right}px` })
        }}
      />
      <div
        ref={list}
        id={id}
        popover="auto"
        className="menu"
        role="group"
        aria-label={label}
        onClick={() => list.current!.hidePopover()}
      >
        {children}
      </div>
    </>
  )
}
