import { keepNewest } from '../util/keep-newest.ts'
import type { Checkpoint } from '../domain/runs/draft.ts'
import type { RunEvent } from '../domain/runs/run-event.ts'
import { hasEnded } from '../domain/runs/run.ts'

export type EntryEvent = Extract<RunEvent, { readonly type: 'entry' }>

/** The result of reading a run's log after some entry. */
export interface TailRead {
  readonly events: readonly EntryEvent[]
  /** True if the read stopped at its limit, so that more entries may follow. */
  readonly cut: boolean
  /** True if the run has ended or was deleted, so that nothing follows these events. */
  readonly finished: boolean
}

/** How many entries and deltas to keep for readers that are slightly behind. */
const keptEntries = 128
const keptDeltas = 8

/**
 * What the readers of a run in one process share while it has readers: the last entries that were committed here or
 * read, so that a hundred readers cost one read or none, and the last deltas, so that readers at the same place get the
 * same event. Readers that are further behind read the database themselves. The tail counts announcements to know how
 * fresh it is. An announcement says that entries were stored that may not be in the tail: another process reported
 * them, or the poll found them. Entries that are committed in this process are added directly, without an announcement.
 * A reader at the end of the log reads the database at most once per announcement, and not at all if another reader has
 * since found that nothing follows.
 */
export class RunTail {
  #events: EntryEvent[] = []
  readonly #deltas = new Map<string, RunEvent>()
  #announcements = 0
  /** A read that began after this many announcements reached the end of the log, which was entry `#end`. */
  #checked = -1
  #end = 0
  #reading: { readonly announcements: number; readonly after: number; readonly result: Promise<TailRead> } | undefined
  readonly #wakeReaders: () => void

  constructor(wakeReaders: () => void) {
    this.#wakeReaders = wakeReaders
  }

  /** How many readers the run has in this process. */
  readers = 0

  /** The last checkpoint that this process committed. The tail may have later entries, which a reader found. */
  lastCheckpoint: Checkpoint | undefined

  /** The seq of the last entry in the tail, or 0 if it is empty. */
  get lastSeq(): number {
    return this.last?.seq ?? 0
  }

  get last(): EntryEvent | undefined {
    return this.#events.at(-1)
  }

  get announcements(): number {
    return this.#announcements
  }

  /** Entries were stored up to `seq`, or unknown entries if `seq` is undefined. */
  announce(seq: number | undefined): void {
    if (seq === undefined || seq > this.lastSeq) this.#announcements += 1
  }

  /**
   * Adds stored entries. Returns whether any of them was new. Entries that leave a gap after the last known one replace
   * the tail's contents.
   */
  add(events: readonly EntryEvent[]): boolean {
    const { lastSeq } = this
    const fresh = events.filter(({ seq }) => seq > lastSeq)
    if (fresh.length === 0) return false
    if (fresh[0]?.seq !== lastSeq + 1) this.#events = []
    this.#events.push(...fresh)
    this.#events.splice(0, this.#events.length - keptEntries)
    return true
  }

  /** The entries after `seq` in the tail, or undefined if the tail does not reach back that far. */
  after(seq: number): readonly EntryEvent[] | undefined {
    const first = this.#events[0]
    if (!first || seq < first.seq - 1) return undefined
    return this.#events.slice(seq - first.seq + 1)
  }

  /**
   * Whether a reader that has everything up to `seq` may wait without reading, because a read since the last
   * announcement found that nothing follows. Always false after the end of a run, where readers must not wait.
   */
  covers(seq: number): boolean {
    const isChecked = this.#checked === this.#announcements
    return isChecked && seq === Math.max(this.lastSeq, this.#end) && !endsIn(this.#events)
  }

  /** Reads the log after an entry. Readers that ask for the same entries during a read share its result. */
  read(after: number, load: () => Promise<TailRead>): Promise<TailRead> {
    const announcements = this.#announcements
    if (this.#reading?.announcements === announcements && this.#reading.after === after) return this.#reading.result
    const result = load().then((read) => {
      this.#accept(read, after, announcements)
      return read
    })
    const reading = { announcements, after, result }
    this.#reading = reading
    const clear = () => {
      if (this.#reading === reading) this.#reading = undefined
    }
    result.then(clear, clear)
    return result
  }

  #accept({ events, cut, finished }: TailRead, after: number, announcements: number): void {
    const reachesEnd = after >= this.lastSeq && !cut && !finished
    // The other readers may be waiting, and nothing else will wake them for the entries that this read found.
    if (this.add(events)) this.#wakeReaders()
    if (!reachesEnd || announcements <= this.#checked) return
    this.#checked = announcements
    this.#end = events.at(-1)?.seq ?? after
  }

  /** The delta that starts at this place: the one that another reader already got, or a new one. */
  delta(seq: number, item: number, offset: number, make: () => RunEvent): RunEvent {
    if (this.readers < 2) return make()
    const place = `${seq} ${item} ${offset}`
    const known = this.#deltas.get(place)
    if (known) return known
    const made = make()
    this.#deltas.set(place, made)
    keepNewest(this.#deltas, keptDeltas)
    return made
  }
}

/** Whether the last of these entries ends the run. A retried run has entries after an earlier end. */
export function endsIn(events: readonly EntryEvent[]): boolean {
  const last = events.at(-1)?.entry
  return last?.type === 'status' && hasEnded(last.status)
}
