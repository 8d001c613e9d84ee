import type { ReactNode } from 'react'

export function NotInContext({ message }: { readonly message: { readonly inContext: boolean } }): ReactNode {
  if (message.inContext) return null
  return (
    <span className="quiet" title="The model does not see this message.">
      not in context
    </span>
  )
}
