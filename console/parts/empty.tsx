import type { ReactNode } from 'react'

import { Icon, type IconName } from './icon.tsx'

/** Shown if there is nothing yet: what this place is for, and what to do. */
export function Empty({
  icon,
  title,
  children,
}: {
  readonly icon: IconName
  readonly title: string
  readonly children?: ReactNode
}): ReactNode {
  return (
    <div className="empty">
      <Icon name={icon} />
      <p className="empty-title">{title}</p>
      {children}
    </div>
  )
}
