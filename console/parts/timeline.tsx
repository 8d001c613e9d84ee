import { memo, type ReactNode } from 'react'

import type { RunPageData } from '../data/documents.ts'
import { duration } from '../data/format.ts'
import { lanesOf, marksOf, timeOf, type Bar } from '../data/timeline.ts'
import { useNow } from '../data/use-now.ts'
import { TimelineStep } from './timeline-step.tsx'
import { Track } from './track.tsx'

type Run = NonNullable<RunPageData['run']>

const legend = [
  ['queue', 'Queue'],
  ['first', 'Waiting for the first token'],
  ['model', 'Model writing'],
  ['people', 'Waiting for people'],
  ['client', 'Waiting for a client'],
  ['tools', 'Tools running'],
] as const

interface TimelineProps {
  readonly run: Run
  /** Which attempt was the last one, by the id of a step that was started again. */
  readonly attempts: ReadonlyMap<string, number>
}

/** The steps of a run on one time axis. Each opens to show what the model was sent and what came back. */
export const Timeline = memo(function Timeline({ run, attempts }: TimelineProps): ReactNode {
  const now = useNow(run.finishedAt ? null : 1_000)
  const start = Date.parse(run.createdAt)
  const end = Math.max(run.finishedAt ? Date.parse(run.finishedAt) : now, start + 1)
  const lanes = lanesOf(run.steps, now)
  const queued: Bar = {
    kind: 'queue',
    label: 'waiting for a worker',
    from: start,
    to: run.startedAt ? Date.parse(run.startedAt) : end,
  }
  const bars = [queued, ...lanes.flatMap((lane) => lane.bars)]
  const span = { start, end }
  return (
    <section className="panel timeline" aria-label="Timeline">
      <header>
        <h2>Timeline</h2>
        <span className="quiet">{duration(end - start)} in all</span>
      </header>
      <ul className="legend" aria-label="Where the time went">
        {legend.map(([kind, label]) => {
          const time = timeOf(kind, bars)
          if (Math.round(time) === 0) return null
          return (
            <li key={kind}>
              <i className={`bar-${kind}`} aria-hidden="true" /> {label} <b>{duration(time)}</b>
            </li>
          )
        })}
      </ul>
      <div className="axis" aria-hidden="true">
        {marksOf(end - start).map((mark) => (
          <span key={mark} style={{ left: `${(100 * mark) / (end - start)}%` }}>
            {mark === 0 ? '0' : duration(mark)}
          </span>
        ))}
      </div>
      <div className="lane">
        <div className="lane-row">
          <span className="lane-name">Queue</span>
          <Track bars={[queued]} span={span} />
        </div>
      </div>
      <ol className="lanes" aria-label="Steps">
        {lanes.map((lane) => (
          <TimelineStep key={lane.step.id} lane={lane} span={span} attempt={attempts.get(lane.step.id) ?? 1} />
        ))}
      </ol>
    </section>
  )
})
