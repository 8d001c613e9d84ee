import { useRef, useState, type ReactNode } from 'react'
import { Virtualizer } from 'virtua'

import type { RunEventFields } from '../../client/documents.ts'
import { count, duration } from '../data/format.ts'
import { Folded } from './folded.tsx'
import { JsonView } from './json-view.tsx'
import { ListColumn } from './list-column.tsx'
import { describe } from './replay.tsx'

/** The stored events of a run, as a client receives them. */
export function EventLog({ events }: { readonly events: readonly RunEventFields[] }): ReactNode {
  const box = useRef<HTMLDivElement>(null)
  // Those that someone has used stay in the document, with what was opened.
  const [used, setUsed] = useState<readonly number[]>([])
  const start = events[0] ? Date.parse(events[0].at) : 0
  return (
    <section className="panel" aria-label="Events">
      <header>
        <h2>Events</h2>
        <span className="quiet">{count(events.length)} stored</span>
      </header>
      <div ref={box} className="events" tabIndex={0} role="group" aria-label="Event log">
        <Virtualizer as={ListColumn} scrollRef={box} data={events} keepMounted={used}>
          {(event, index) => (
            <div
              className="event"
              key={event.cursor}
              onFocus={() => setUsed((before) => (before.includes(index) ? before : [...before, index]))}
            >
              <Folded
                summary={
                  <>
                    <span>{'seq' in event ? event.seq : ''}</span>
                    <span>+{duration(Date.parse(event.at) - start)}</span>
                    <span className="mono">{event.__typename}</span>
                    <span className="quiet">{describe(event)}</span>
                  </>
                }
              >
                <JsonView value={event} />
              </Folded>
            </div>
          )}
        </Virtualizer>
      </div>
    </section>
  )
}
