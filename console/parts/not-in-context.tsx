import type { ReactNode } from 'react'

interface NotInContextProps {
  readonly message: { readonly inContext: boolean }
  /** While its run is under way, a message may still enter the context, as one with a call that waits does. */
  readonly isUnderWay: boolean
}

export function NotInContext({ message, isUnderWay }: NotInContextProps): ReactNode {
  if (message.inContext || isUnderWay) return null
  return (
    <span className="quiet" title="The model does not see this message.">
      not in context
    </span>
  )
}
