import type { ReactNode } from 'react'

interface BarChartProps {
  readonly label: string
  readonly bars: readonly { readonly name: string; readonly value: number }[]
  readonly show: (value: number) => string
}

const height = 120
const step = 24

/** Bars in order of time. Screen readers get the same as a list. */
export function BarChart({ label, bars, show }: BarChartProps): ReactNode {
  const most = Math.max(...bars.map(({ value }) => value), Number.MIN_VALUE)
  return (
    <figure className="chart">
      <figcaption>
        {label}: {show(bars.reduce((sum, { value }) => sum + value, 0))} in all, at most {show(most)}
      </figcaption>
      <svg
        viewBox={`0 0 ${Math.max(bars.length, 12) * step} ${height}`}
        preserveAspectRatio="none"
        aria-hidden="true"
        height={height}
      >
        {bars.map(({ name, value }, place) => {
          const size = value === 0 ? 0 : Math.max(2, (value / most) * height)
          return (
            <rect key={name} x={place * step + 2} y={height - size} width={step - 4} height={size}>
              <title>{`${name}: ${show(value)}`}</title>
            </rect>
          )
        })}
      </svg>
      <p className="chart-ends" aria-hidden="true">
        <span>{bars[0]?.name}</span>
        <span>{bars.length > 1 && bars.at(-1)!.name}</span>
      </p>
      <ol className="unseen" aria-label={label}>
        {bars
          .filter(({ value }) => value > 0)
          .map(({ name, value }) => (
            <li key={name}>{`${name}: ${show(value)}`}</li>
          ))}
      </ol>
    </figure>
  )
}

/** One bar in a table, whose figure is beside it. */
export function Bar({ share }: { readonly share: number }): ReactNode {
  return (
    <svg className="usage-bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      <rect width={Math.max(share * 100, share > 0 ? 1 : 0)} height="8" />
    </svg>
  )
}
