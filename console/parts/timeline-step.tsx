import { useState, type ReactNode } from 'react'

import { count, duration } from '../data/format.ts'
import { timeOf, type Axis, type Lane } from '../data/timeline.ts'
import { Cost } from './cost.tsx'
import { Status } from './status.tsx'
import { StepDetails } from './step-details.tsx'
import { Track } from './track.tsx'

interface TimelineStepProps {
  readonly lane: Lane
  readonly axis: Axis
  /** Which attempt was the last one, starting at 1. */
  readonly attempt: number
}

/** One step of a run: a line of the timeline that opens to show everything about the step. */
export function TimelineStep({ lane, axis, attempt }: TimelineStepProps): ReactNode {
  const [isOpen, setOpen] = useState(false)
  const { step, bars } = lane
  const { usage } = step
  const waited = timeOf(bars, 'people', 'client')
  return (
    <li className="lane">
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary className="lane-row">
          <span className="lane-name">Step {step.index + 1}</span>
          <Track bars={bars} axis={axis} />
          <span className="lane-facts">
            {step.status !== 'COMPLETED' && <Status value={step.status} />}
            {attempt > 1 && (
              <span className="status hold" title="Its worker was lost, and another one started the step again.">
                Attempt {attempt}
              </span>
            )}
            <span className="mono">{step.model}</span>
            <span>
              {count(usage.inputTokens)} in, {count(usage.outputTokens)} out
            </span>
            {usage.costUsd !== 0 && (
              <span>
                <Cost usd={usage.costUsd} />
              </span>
            )}
            {waited > 0 && <span>waited {duration(waited)}</span>}
            {step.toolCalls.map((call) => (
              <span key={call.id} className="mono">
                {call.name}
              </span>
            ))}
            {step.error && <span className="field-problem">{step.error.message}</span>}
          </span>
        </summary>
        {isOpen && <StepDetails step={step} />}
      </details>
    </li>
  )
}
