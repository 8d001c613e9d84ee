import { useId, useRef, type ReactNode } from 'react'

import { Button } from './button.tsx'
import type { IconName } from './icon.tsx'

interface MenuProps {
  readonly label: string
  readonly look?: 'primary' | 'quiet'
  readonly icon?: IconName
  /** Buttons. Pressing one closes the menu. */
  readonly children: ReactNode
}

/** Further actions behind one button. Escape and a click elsewhere close it. */
export function Menu({ label, look = 'quiet', icon = 'more', children }: MenuProps): ReactNode {
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  return (
    <>
      <Button
        look={look}
        icon={icon}
        aria-label={label}
        title={label}
        popoverTarget={id}
        onClick={(event) => {
          // Towards the middle of the window, where there is room.
          const { top, bottom, left, right } = event.currentTarget.getBoundingClientRect()
          const y = top < innerHeight / 2 ? `${bottom + 4}px auto auto` : `auto auto ${innerHeight - top + 4}px`
          const x = left < innerWidth / 2 ? { left: `${left}px` } : { right: `${innerWidth - right}px` }
          Object.assign(list.current!.style, { inset: y, left: 'auto', ...x })
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
