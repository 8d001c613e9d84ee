import type { ReactNode } from 'react'

/** Shows what went wrong, next to where it happened. */
export function Problem({ children }: { readonly children: ReactNode }): ReactNode {
  if (!children) return null
  return (
    <div role="alert" className="problem">
      {children}
    </div>
  )
}
