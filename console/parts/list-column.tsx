import type { ReactNode } from 'react'
import type { CustomContainerComponentProps } from 'virtua'

/** The element that holds the items of a virtual list. Its buttons work also while the list is still scrolling. */
export function ListColumn({ style, ref, children }: CustomContainerComponentProps): ReactNode {
  return (
    <div ref={ref} style={{ ...style, pointerEvents: undefined }}>
      {children}
    </div>
  )
}
