import type { RunEvent } from '../domain/run-event.ts'
import { hasEnded } from '../domain/run.ts'

export type EntryEvent = Extract<RunEvent, { readonly type: 'entry' }>

export interface TailRead {
  readonly events: readonly EntryEvent[]
  /** So many were asked for and no more: others may follow. */
  readonly cut: boolean
  /** The run has ended, or is gone, and these events are all that was left. */
  readonly finished: boolean
}

/** So many entries, and so many pieces of live text, are kept for readers that are close behind. */
const keptEntries = 128
const keptDeltas = 8

/**
 * What the readers of a run in this process share, for as long as there are any: entries that were just committed or
 * read, so that a hundred readers cost one read or none, and the last pieces of live text, so that readers at the
 * same place get the same event. Readers that are further behind read for themselves.
 */
export class RunTail {
  #events: EntryEvent[] = []
  readonly #deltas = new Map<string, RunEvent>()
  #news = 0
  /** The news that someone has read after to the end of the log, and where it ended then. */
  #covered = -1
  #end = 0
  #reading: { readonly news: number; readonly after: number; readonly result: Promise<TailRead> } | undefined
  readonly #wakeReaders: () => void

  constructor(wakeReaders: () => void) {
    this.#wakeReaders = wakeReaders
  }

  /** How many read the run here. */
  readers = 0

  /** The last entry that is known here; 0 where none is. */
  get lastSeq(): number {
    return this.#events.at(-1)?.seq ?? 0
  }

  /** The last entry that is known here. */
  get last(): EntryEvent | undefined {
    return this.#events.at(-1)
  }

  /** Counts how often something may have been stored that is not here. */
  get news(): number {
    return this.#news
  }

  /** Something may have been stored, up to `seq` where that is known. */
  hint(seq = Number.POSITIVE_INFINITY): void {
    if (seq > this.lastSeq) this.#news += 1
  }

  /**
   * Adds stored entries, and says whether any of them was new. Entries that do not follow the last known one directly
   * replace what was here.
   */
  add(events: readonly EntryEvent[]): boolean {
    const { lastSeq } = this
    const fresh = events.filter(({ seq }) => seq > lastSeq)
    if (fresh.length === 0) return false
    if (fresh[0]!.seq !== lastSeq + 1) this.#events = []
    this.#events.push(...fresh)
    this.#events.splice(0, this.#events.length - keptEntries)
    return true
  }

  /** The entries after `seq`, if what is here reaches back that far; nothing says that there are no later ones. */
  after(seq: number): readonly EntryEvent[] | undefined {
    const first = this.#events[0]
    if (!first || seq < first.seq - 1) return undefined
    return this.#events.slice(seq - first.seq + 1)
  }

  /**
   * Whether someone has read, after the last news, that nothing follows `seq` yet; what was added since is here. Not
   * where the run has ended: who comes then is not to wait.
   */
  covers(seq: number): boolean {
    return this.#covered === this.#news && seq === Math.max(this.lastSeq, this.#end) && !endsIn(this.#events)
  }

  /** One read serves everyone who asks for the same place while it is under way and no news has come. */
  read(after: number, load: () => Promise<TailRead>): Promise<TailRead> {
    const news = this.#news
    if (this.#reading?.news === news && this.#reading.after === after) return this.#reading.result
    const result = load().then((read) => {
      const joins = after >= this.lastSeq
      // The other readers may be waiting: nobody else will tell them of what this read found.
      if (this.add(read.events)) this.#wakeReaders()
      if (joins && !read.cut && !read.finished && news > this.#covered) {
        this.#covered = news
        this.#end = read.events.at(-1)?.seq ?? after
      }
      return read
    })
    const reading = { news, after, result }
    this.#reading = reading
    const clear = () => {
      if (this.#reading === reading) this.#reading = undefined
    }
    result.then(clear, clear)
    return result
  }

  /** The piece of live text after this place that another reader was given, or the one that `make` makes. */
  delta(seq: number, item: number, offset: number, make: () => RunEvent): RunEvent {
    if (this.readers < 2) return make()
    const place = `${seq} ${item} ${offset}`
    const known = this.#deltas.get(place)
    if (known) return known
    const made = make()
    this.#deltas.set(place, made)
    if (this.#deltas.size > keptDeltas) this.#deltas.delete(this.#deltas.keys().next().value!)
    return made
  }
}

/** A run that was retried has entries after an end: only the last one counts. */
export function endsIn(events: readonly EntryEvent[]): boolean {
  const last = events.at(-1)?.entry
  return last?.type === 'status' && hasEnded(last.status)
}
