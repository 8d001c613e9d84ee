import type { ReactNode } from 'react'

import { clockTime, longTime, relativeTime } from '../data/format.ts'
import { useNow } from '../data/use-now.ts'

/** How long ago, or in how long. The exact time is the tooltip. */
export function Ago({ at }: { readonly at: string }): ReactNode {
  const now = useNow(15_000)
  return (
    <time dateTime={at} title={longTime(at)}>
      {relativeTime(at, now)}
    </time>
  )
}

export function Clock({ at }: { readonly at: string }): ReactNode {
  return (
    <time dateTime={at} title={longTime(at)}>
      {clockTime(at)}
    </time>
  )
}
