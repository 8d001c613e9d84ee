import { useState, type ReactNode } from 'react'
import { useSearchParams } from 'wouter'

import type { UsageDimension } from '../../client/schema-types.ts'
import { UsageBuckets, type UsageBucketsData } from '../data/documents.ts'
import { cost, count, duration } from '../data/format.ts'
import { useQuery } from '../data/use-query.ts'
import { BarChart, Bar } from '../parts/bar-chart.tsx'
import { Cost } from '../parts/cost.tsx'
import { Empty } from '../parts/empty.tsx'
import { Field } from '../parts/field.tsx'
import { Loading } from '../parts/loading.tsx'
import { Page } from '../parts/page.tsx'
import { Table } from '../parts/table.tsx'

type Bucket = UsageBucketsData['usage'][number]

const dayMs = 86_400_000
/** The interval of a bar, the days that are shown, and how much of a time names a bar. */
const spans = { day: ['HOUR', 1, 16], month: ['DAY', 30, 10], year: ['MONTH', 365, 7] } as const
const measures = {
  tokens: ['Tokens', ({ usage }: Bucket) => usage.totalTokens, count],
  cost: ['Cost', ({ usage }: Bucket) => usage.costUsd ?? 0, cost],
  runs: ['Runs', ({ runs }: Bucket) => runs, count],
} as const
const dimensions = [
  ['AGENT', 'Agent', ({ agent }: Bucket) => agent?.name ?? 'Deleted agents'],
  ['MODEL', 'Model', ({ model }: Bucket) => model ?? 'Summaries and runs without a model'],
  ['ACTOR', 'Person', ({ actor }: Bucket) => actor?.name ?? 'Background'],
] as const

const keyIn = <Name extends string>(
  of: Readonly<Record<Name, unknown>>,
  value: string | null,
  otherwise: Name,
): Name => (value !== null && Object.hasOwn(of, value) ? (value as Name) : otherwise)

export function UsagePage(): ReactNode {
  const [search, setSearch] = useSearchParams()
  const span = keyIn(spans, search.get('span'), 'month')
  const measure = keyIn(measures, search.get('measure'), 'tokens')
  const [openedAt] = useState(Date.now)
  const [interval, days, length] = spans[span]
  const time = { from: new Date(openedAt - days * dayMs).toISOString(), to: new Date(openedAt).toISOString() }
  const buckets = useQuery(UsageBuckets, { input: { ...time, interval } })
  const [label, valueOf, show] = measures[measure]
  const set = (name: string, value: string): void =>
    setSearch((before) => new URLSearchParams([...new Map([...before, [name, value]])]), { replace: true })
  return (
    <Page title="Usage" lead="What ended runs used, at most a minute old. Times are UTC.">
      <div className="filters">
        <Field label="Time" as="select" value={span} onChange={(event) => set('span', event.target.value)}>
          <option value="day">Last 24 hours</option>
          <option value="month">Last 30 days</option>
          <option value="year">Last 12 months</option>
        </Field>
        <Field label="Show" as="select" value={measure} onChange={(event) => set('measure', event.target.value)}>
          {Object.entries(measures).map(([name, [title]]) => (
            <option key={name} value={name}>
              {title}
            </option>
          ))}
        </Field>
      </div>
      <Loading of={buckets} data={buckets.data} lines={6} />
      {buckets.data?.usage.length === 0 && (
        <Empty icon="usage" title="Nothing was used in this time">
          <p>What a run used appears here once the run has ended.</p>
        </Empty>
      )}
      {buckets.data && buckets.data.usage.length > 0 && (
        <>
          <BarChart
            label={`${label} by ${interval.toLowerCase()}`}
            bars={barsOf(buckets.data.usage, namesOf(time.from, days, length), valueOf)}
            show={show}
          />
          {dimensions.map(([by, title, nameOf]) => (
            <UsageBy key={by} by={by} title={title} nameOf={nameOf} time={time} valueOf={valueOf} />
          ))}
        </>
      )}
    </Page>
  )
}

/** The names of all bars, also of those without usage. */
function namesOf(from: string, days: number, length: number): ReadonlySet<string> {
  const stepMs = days === 1 ? dayMs / 24 : dayMs
  const times = Array.from({ length: (days * dayMs) / stepMs + 1 }, (_, place) => Date.parse(from) + place * stepMs)
  return new Set(times.map((time) => `${new Date(time).toISOString().slice(0, 13)}:00`.slice(0, length)))
}

function barsOf(buckets: readonly Bucket[], names: ReadonlySet<string>, valueOf: (bucket: Bucket) => number) {
  return [...names].map((name) => {
    const bucket = buckets.find(({ from }) => from.startsWith(name))
    return { name: name.replace('T', ' '), value: bucket ? valueOf(bucket) : 0 }
  })
}

interface UsageByProps {
  readonly by: UsageDimension
  readonly title: string
  readonly time: { readonly from: string; readonly to: string }
  readonly nameOf: (bucket: Bucket) => string
  readonly valueOf: (bucket: Bucket) => number
}

function UsageBy({ by, title, time, nameOf, valueOf }: UsageByProps): ReactNode {
  const { data } = useQuery(UsageBuckets, { input: { ...time, interval: 'ALL', groupBy: [by] } })
  if (!data) return null
  const rows = data.usage
    .map((bucket) => ({ ...bucket, id: `${bucket.agent?.id} ${bucket.model} ${bucket.actor?.id}` }))
    .toSorted((one, other) => valueOf(other) - valueOf(one))
  const most = Math.max(...rows.map(valueOf), 0)
  return (
    <section aria-labelledby={`by-${by}`}>
      <h2 id={`by-${by}`}>By {title.toLowerCase()}</h2>
      <Table
        label={`Usage by ${title.toLowerCase()}`}
        rows={rows}
        columns={[
          { head: title, className: 'name', cell: (row) => <span title={nameOf(row)}>{nameOf(row)}</span> },
          { head: 'Share', cell: (row) => <Bar share={most === 0 ? 0 : valueOf(row) / most} /> },
          { head: 'Runs', className: 'number', cell: ({ runs }) => count(runs) },
          { head: 'Failed', className: 'number', cell: ({ failedRuns }) => count(failedRuns) },
          { head: 'Tokens', className: 'number', cell: ({ usage }) => count(usage.totalTokens) },
          { head: 'Cost', className: 'number', cell: ({ usage }) => <Cost usd={usage.costUsd} /> },
          {
            head: 'Took (median)',
            className: 'number',
            cell: ({ runP50Ms }) => (runP50Ms === null ? '–' : duration(runP50Ms)),
          },
        ]}
      />
    </section>
  )
}
