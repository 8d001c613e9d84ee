import { eventsDeleted } from '../domain/errors.ts'
import { storedEventTypes, eventTypeOf, toEntryEvents, type EventFilter } from '../domain/runs/run-event.ts'
import { listLogEntries } from '../store/runs/run-log.ts'
import type { Db } from '../store/database/schema.ts'
import type { FollowedRun } from './follow-run.ts'
import type { EntryEvent } from './run-tail.ts'

/** How many checkpoints to read at a time. */
const batch = 200

/** The first `limit` stored events after the entry `after` that the filter lets through. */
export async function listEvents(
  db: Db,
  run: FollowedRun,
  { after, limit, types }: Pick<EventFilter, 'types'> & { readonly after: number; readonly limit: number },
): Promise<EntryEvent[]> {
  const listed: EntryEvent[] = []
  if (types && !storedEventTypes.some((type) => types.has(type))) return listed
  for (let last = after; ;) {
    const checkpoints = Math.min(batch, limit - listed.length)
    const entries = await listLogEntries(db, run.id, { after: last, checkpoints })
    if (after > 0 && last === after && (entries[0]?.seq ?? 0) > after + 1) throw eventsDeleted()
    for (const { seq, at, entry } of entries) {
      const events = toEntryEvents(run, { firstSeq: seq, at, entries: [entry] })
      listed.push(...events.filter((event) => !types || types.has(eventTypeOf(event))))
    }
    // Each checkpoint has at least one entry.
    if (entries.length < checkpoints || listed.length >= limit) return listed.slice(0, limit)
    last = entries.at(-1)?.seq ?? last
  }
}
