import type { ReactNode } from 'react'

/** How many files a message has that is not part of the conversation yet. */
export function FileCount({ count }: { readonly count: number }): ReactNode {
  if (count === 0) return null
  return <p className="quiet">{count === 1 ? 'One file' : `${count} files`}</p>
}
