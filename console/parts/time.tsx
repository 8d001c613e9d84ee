import type { ReactNode } from 'react'

import { clockTime, longTime, relativeTime } from '../data/format.ts'
import { useNow } from '../data/use-now.ts'

/**
 * How long ago. The exact time is the tooltip. What is over is never in the future, even if the server's clock is ahead
 * of the browser's.
 */
export function Ago({ at }: { readonly at: string }): ReactNode {
  return <Relative at={at} nearest={Math.min} />
}

/** In how long. */
export function Until({ at }: { readonly at: string }): ReactNode {
  return <Relative at={at} nearest={Math.max} />
}

function Relative({ at, nearest }: { readonly at: string; readonly nearest: typeof Math.min }): ReactNode {
  useNow(15_000)
  // It may be rendered between two ticks, with a time that is newer than the last of them.
  const now = Date.now()
  return (
    <time dateTime={at} title={longTime(at)}>
      {relativeTime(nearest(Date.parse(at), now), now)}
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
