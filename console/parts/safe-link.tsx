import type { ReactNode } from 'react'

/** Only web and mail addresses become links. */
export function SafeLink({ href, children }: { readonly href: string; readonly children: ReactNode }): ReactNode {
  if (!/^(https?:|mailto:)/i.test(href)) return children
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow" referrerPolicy="no-referrer">
      {children}
    </a>
  )
}
