import { memo, type ReactNode } from 'react'

import type { RunPageData } from '../data/documents.ts'
import { duration } from '../data/format.ts'
import { axisOf, lanesOf, timeOf, waitsOf, type StatusChange } from '../data/timeline.ts'
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
  readonly changes: readonly StatusChange[]
  /** Which attempt was the last one, by the id of a step that was started again. */
  readonly attempts: ReadonlyMap<string, number>
}

/** The steps of a run on one time axis. Each opens to show what the model was sent and what came back. */
export const Timeline = memo(function Timeline({ run, changes, attempts }: TimelineProps): ReactNode {
  const now = useNow(run.finishedAt ? null : 1_000)
  const from = Date.parse(run.createdAt)
  const to = Math.max(run.finishedAt ? Date.parse(run.finishedAt) : now, from + 1)
  const lanes = lanesOf(run.steps, now)
  const waits = waitsOf(changes, to)
  const bars = [...waits, ...lanes.flatMap((lane) => lane.bars)]
  const axis = axisOf(bars, { from, to })
  const waited = timeOf(bars, 'queue', 'people', 'client')
  const times = legend.map(([kind, label]) => ({ kind, label, time: timeOf(bars, kind) }))
  const rest = to - from - timeOf(bars, ...legend.map(([kind]) => kind))
  return (
    <section className="panel timeline" aria-label="Timeline">
      <header>
        <h2>Timeline</h2>
        <span className="quiet">
          {[run.startedAt && duration(to - from - waited), waited >= 0.5 && `${duration(waited)} waiting`]
            .filter(Boolean)
            .join(' + ')}
        </span>
      </header>
      <ul className="legend" aria-label="Where the time went">
        {[...times, { kind: 'server', label: 'Storing and scheduling', time: rest }].map(
          ({ kind, label, time }) =>
            time >= 0.5 && (
              <li key={kind}>
                <i className={`bar-${kind}`} aria-hidden="true" /> {label} <b>{duration(time)}</b>
              </li>
            ),
        )}
      </ul>
      <div className="axis" aria-hidden="true">
        {axis.marks.map(({ at, label }) => (
          <span key={label} style={{ left: `${at}%` }}>
            {label}
          </span>
        ))}
        {axis.cuts.map((cut) => (
          <i key={cut.from} style={{ left: `${axis.place(cut.from)}%`, right: `${100 - axis.place(cut.to)}%` }}>
            {duration(cut.to - cut.from)}
          </i>
        ))}
      </div>
      {(timeOf(waits, 'queue', 'people') >= 0.5 || lanes.length === 0) && (
        <div className="lane">
          <div className="lane-row">
            <span className="lane-name">Waiting</span>
            <Track bars={waits} axis={axis} />
          </div>
        </div>
      )}
      {lanes.length > 0 && (
        <ol className="lanes" aria-label="Steps">
          {lanes.map((lane) => (
            <TimelineStep key={lane.step.id} lane={lane} axis={axis} attempt={attempts.get(lane.step.id) ?? 1} />
          ))}
        </ol>
      )}
    </section>
  )
})
