import type { ReactNode } from 'react'

import { duration } from '../data/format.ts'
import type { Axis, Bar } from '../data/timeline.ts'

/** Bars on a time axis. */
export function Track({ bars, axis }: { readonly bars: readonly Bar[]; readonly axis: Axis }): ReactNode {
  const between = (from: number, to: number) => {
    const left = axis.place(from)
    return { left: `${left}%`, width: `${Math.max(0.2, axis.place(to) - left)}%` }
  }
  return (
    <span className="track">
      {bars.map((bar, index) => (
        <span
          key={index}
          className={`bar bar-${bar.kind}`}
          style={between(bar.from, bar.to)}
          title={`${bar.label}: ${duration(bar.to - bar.from)}`}
        />
      ))}
      {axis.cuts.map(({ from, to }) => (
        <span key={from} className="cut" style={between(from, to)} />
      ))}
    </span>
  )
}
