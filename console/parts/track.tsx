import type { ReactNode } from 'react'

import { duration } from '../data/format.ts'
import type { Bar } from '../data/timeline.ts'

export interface Span {
  readonly start: number
  readonly end: number
}

/** Bars on a time axis. */
export function Track({ bars, span }: { readonly bars: readonly Bar[]; readonly span: Span }): ReactNode {
  const length = span.end - span.start
  return (
    <span className="track">
      {bars.map((bar, index) => (
        <span
          key={index}
          className={`bar bar-${bar.kind}`}
          style={{
            left: `${(100 * (bar.from - span.start)) / length}%`,
            width: `${Math.max(0.2, (100 * (bar.to - bar.from)) / length)}%`,
          }}
          title={`${bar.label}: ${duration(bar.to - bar.from)}`}
        />
      ))}
    </span>
  )
}
