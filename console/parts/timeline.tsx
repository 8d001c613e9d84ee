import type { ReactNode } from 'react'

import type { RunPageData } from '../data/documents.ts'
import { cost, count, duration } from '../data/format.ts'
import { lanesOf, type Bar } from '../data/timeline.ts'
import { useNow } from '../data/use-now.ts'
import { JsonView } from './json-view.tsx'
import { Status } from './status.tsx'

type Run = NonNullable<RunPageData['run']>

const legend = [
  ['queue', 'Waiting for a worker'],
  ['first', 'Waiting for the first token'],
  ['model', 'Model writing'],
  ['people', 'Waiting for people'],
  ['tools', 'Tools running'],
] as const

/** The steps of a run on one axis of time. */
export function Timeline({ run }: { readonly run: Run }): ReactNode {
  const now = useNow(1_000)
  const start = Date.parse(run.createdAt)
  const end = Math.max(run.finishedAt ? Date.parse(run.finishedAt) : now, start + 1)
  const place = ({ from, to }: Bar): { left: string; width: string } => ({
    left: `${(100 * (from - start)) / (end - start)}%`,
    width: `${Math.max(0.2, (100 * (to - from)) / (end - start))}%`,
  })
  const queued: Bar = {
    kind: 'queue',
    label: 'waiting for a worker',
    from: start,
    to: run.startedAt ? Date.parse(run.startedAt) : end,
  }
  return (
    <section className="panel timeline" aria-label="Timeline">
      <header>
        <h2>Timeline</h2>
        <span className="quiet">{duration(end - start)} in all</span>
      </header>
      <p className="legend" aria-hidden="true">
        {legend.map(([kind, label]) => (
          <span key={kind}>
            <i className={`bar-${kind}`} /> {label}
          </span>
        ))}
      </p>
      <div className="lane">
        <p>
          <b>Queue</b> <span className="quiet">{duration(queued.to - queued.from)}</span>
        </p>
        <div className="track">
          <span
            className="bar bar-queue"
            style={place(queued)}
            title={`${queued.label}: ${duration(queued.to - queued.from)}`}
          />
        </div>
      </div>
      <ol className="timeline" aria-label="Steps">
        {lanesOf(run.steps, now).map(({ step, bars }) => (
          <li key={step.id} className="lane">
            <p>
              <b>Step {step.index + 1}</b>
              <Status value={step.status} />
              <span className="mono">{step.model}</span>
              {step.metrics.timeToFirstTokenMs !== null && (
                <span className="quiet">first token {duration(step.metrics.timeToFirstTokenMs)}</span>
              )}
              {step.metrics.modelMs !== null && <span className="quiet">model {duration(step.metrics.modelMs)}</span>}
              {step.metrics.toolsMs !== null && <span className="quiet">tools {duration(step.metrics.toolsMs)}</span>}
              {waitingOf(bars) > 0 && <span className="quiet">people {duration(waitingOf(bars))}</span>}
              <span className="quiet">
                {count(step.usage.inputTokens)} in, {count(step.usage.outputTokens)} out
              </span>
              {step.usage.costUsd != null && <span className="quiet">{cost(step.usage.costUsd)}</span>}
              {step.toolCalls.map((call) => (
                <span key={call.id} className="mono">
                  {call.name}
                </span>
              ))}
              {step.error && <span className="field-problem">{step.error.message}</span>}
            </p>
            <div className="track">
              {bars.map((bar, index) => (
                <span
                  key={index}
                  className={`bar bar-${bar.kind}`}
                  style={place(bar)}
                  title={`${bar.label}: ${duration(bar.to - bar.from)}`}
                />
              ))}
            </div>
            {step.request != null && (
              <details>
                <summary>Request</summary>
                <JsonView value={step.request} />
              </details>
            )}
            {step.response != null && (
              <details>
                <summary>Response</summary>
                <JsonView value={step.response} />
              </details>
            )}
          </li>
        ))}
      </ol>
    </section>
  )
}

function waitingOf(bars: readonly Bar[]): number {
  const waits = bars.filter(({ kind }) => kind === 'people')
  return waits.length === 0 ? 0 : Math.max(...waits.map(({ to }) => to)) - Math.min(...waits.map(({ from }) => from))
}
