import { useEffect, useRef, useState, type ReactNode } from 'react'
import { Virtualizer } from 'virtua'

import type { RunEventFields } from '../../client/documents.ts'
import { isRunOver } from '../../client/transcript.ts'
import { duration, words } from '../data/format.ts'
import { useTranscriptAt } from '../data/use-transcript-at.ts'
import { Button } from './button.tsx'
import { Entry } from './entry.tsx'
import { ListColumn } from './list-column.tsx'
import { Status } from './status.tsx'

/** How many of the newest entries are always in the document. Of the others, only those in view are. */
const newest = 20

/** The run as a reader saw it at any moment, made only from its stored events. */
export function Replay({ events }: { readonly events: readonly RunEventFields[] }): ReactNode {
  const [chosen, setChosen] = useState<number>()
  const [isPlaying, setPlaying] = useState(false)
  const box = useRef<HTMLDivElement>(null)
  const position = Math.min(chosen ?? events.length, events.length)
  const state = useTranscriptAt(events, position)
  const current = events[position - 1]
  const first = events[0]
  // At its end, the replay is the present: what waits can be decided.
  const isPast = isPlaying || position < events.length
  const isUnderWay = state.latestRun !== undefined && !isRunOver(state.latestRun.status)

  useEffect(() => {
    if (!isPlaying) return undefined
    if (position >= events.length) return setPlaying(false)
    const gap = current ? Date.parse(events[position]!.at) - Date.parse(current.at) : 0
    // In real time, except that long pauses are shortened.
    const timer = setTimeout(() => setChosen(position + 1), Math.min(Math.max(gap, 60), 900))
    return () => clearTimeout(timer)
  }, [isPlaying, position, events, current])
  useEffect(() => {
    if (chosen !== undefined) box.current?.scrollTo({ top: box.current.scrollHeight })
  }, [chosen, state])

  return (
    <section className="panel" aria-label="Replay of the run">
      <header>
        <h2>Replay</h2>
        {state.latestRun && <Status value={state.latestRun.status} />}
      </header>
      <div className="row">
        <Button
          isRepeatable
          onClick={() => {
            if (!isPlaying && position >= events.length) setChosen(0)
            setPlaying(!isPlaying)
          }}
        >
          {isPlaying ? 'Pause' : 'Play'}
        </Button>
        <span className="quiet">
          {position} of {events.length} events
          {current && first && (
            <>
              {' '}
              · {duration(Date.parse(current.at) - Date.parse(first.at))} after the start · {describe(current)}
            </>
          )}
        </span>
      </div>
      <input
        type="range"
        aria-label="Replay"
        min={0}
        max={events.length}
        value={position}
        aria-valuetext={
          current ? `Event ${position} of ${events.length}: ${describe(current)}` : 'Before the first event'
        }
        onChange={(event) => {
          setPlaying(false)
          setChosen(Number(event.target.value))
        }}
      />
      <div className="replay" ref={box} tabIndex={0} role="group" aria-label="The run at this moment">
        {state.entries.length === 0 && <p className="quiet">Nothing was visible yet.</p>}
        <Virtualizer
          as={ListColumn}
          scrollRef={box}
          data={state.entries}
          keepMounted={state.entries.map((_, index) => index).slice(-newest)}
        >
          {(entry) => <Entry key={entry.id} entry={entry} isUnderWay={isUnderWay} isReplay={isPast} />}
        </Virtualizer>
      </div>
    </section>
  )
}

/** An event in a few words. */
export function describe(event: RunEventFields): string {
  switch (event.__typename) {
    case 'RunStatusChanged':
      return `run ${words(event.status).toLowerCase()}${event.stopReason ? ` (${words(event.stopReason).toLowerCase()})` : ''}`
    case 'StepStarted':
      return `step ${event.index + 1} started`
    case 'StepRestarted':
      return `step started again, attempt ${event.attempt}`
    case 'StepFinished':
      return 'step finished'
    case 'MessageAdded':
      return words(event.message.__typename.replaceAll(/(?<=[a-z])([A-Z])/g, ' $1')).toLowerCase()
    case 'ToolCallChanged':
      return `${event.toolCall.name} ${words(event.toolCallStatus).toLowerCase()}`
    case 'ChildRunStarted':
      return 'background run started'
    case 'TextDelta':
    case 'ToolCallDelta':
      return 'text'
    case 'ToolCallProgressed':
      return 'progress'
    default:
      return event satisfies never
  }
}
