import type { ReactNode } from 'react'

/** The number of files of a message that is not part of the conversation yet. */
export function FileCount({ count }: { readonly count: number }): ReactNode {
  if (count === 0) return null
  return <p className="quiet">{count === 1 ? 'One file' : `${count} files`}</p>
}
