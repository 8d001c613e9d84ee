import {
  sliceText,
  writeText,
  type LivePiece,
  type LivePosition,
  type RecentText,
  type ShownItem,
  type ShownStep,
} from '../domain/live-step.ts'
import type { ToolCallNeed } from '../domain/tool-call.ts'

/** A piece of a live step on its way to another process. */
export interface Patch extends LivePosition {
  /** Of the StepStarted or StepRestarted entry that the step follows: a later one has the word. */
  readonly seq: number
  readonly stepIndex: number
  readonly text: string
  /** The item ends with this piece. */
  readonly complete: boolean
  /** Which item it is, and how much text the items before it have, all of them complete; there where it begins. */
  readonly opening?: {
    readonly kind: ShownItem['kind']
    readonly id: string
    readonly name: string
    readonly needs: ToolCallNeed | null
    readonly before: number
  }
}

/** `size`, 2 at the least, is how many UTF-16 units a piece may have: the pieces of a long text follow one another. */
export function toPatch(step: ShownStep, { live, item, offset, end }: LivePiece, size: number): Patch {
  const last = Math.min(end, offset + size)
  const { name, needs } = live.kind === 'CALL' ? live : { name: '', needs: null }
  return {
    seq: step.seq,
    stepIndex: step.stepIndex,
    item,
    offset,
    text: sliceText(live, offset, last),
    complete: live.complete && last === live.text.length,
    ...(offset === 0 && {
      opening: { kind: live.kind, id: live.id, name, needs, before: lengthOf(step.items.slice(0, item)) },
    }),
  }
}

function lengthOf(items: readonly { readonly text: string }[]): number {
  return items.reduce((sum, { text }) => sum + text.length, 0)
}

interface ReplicaItem {
  readonly kind: ShownItem['kind']
  readonly id: string
  readonly name: string
  readonly needs: ToolCallNeed | null
  text: string
  recent?: RecentText | undefined
  complete: boolean
}

/** A live step that another process writes, as far as it is known here. */
export class Replica implements ShownStep {
  readonly seq: number
  readonly stepIndex: number
  readonly #items: ReplicaItem[] = []

  constructor({ seq, stepIndex }: Patch) {
    this.seq = seq
    this.stepIndex = stepIndex
  }

  get items(): readonly ShownItem[] {
    return this.#items
  }

  /** Where it goes on. */
  get position(): LivePosition {
    const open = this.#items.at(-1)
    return open && !open.complete
      ? { item: this.#items.length - 1, offset: open.text.length }
      : { item: this.#items.length, offset: 0 }
  }

  /** Adds what is new of a patch; a repeat changes nothing. False where something before it is missing. */
  apply({ item, offset, text, complete, opening }: Patch): boolean {
    if (opening && item >= this.#items.length && !this.#open(item, opening)) return false
    const known = this.#items[item]
    if (!known || offset > known.text.length) return false
    const fresh = offset + text.length - known.text.length
    if (fresh > 0) writeText(known, text.slice(text.length - fresh))
    if (complete && offset + text.length === known.text.length) known.complete = true
    return true
  }

  #open(item: number, { before, ...opening }: NonNullable<Patch['opening']>): boolean {
    if (lengthOf(this.#items) !== before) return false
    // That they are complete may not have been told, and those without a text were not told at all.
    for (const earlier of this.#items) earlier.complete = true
    while (this.#items.length < item) {
      this.#items.push({ kind: 'REASONING', id: '', name: '', needs: null, text: '', complete: true })
    }
    this.#items.push({ ...opening, text: '', complete: false })
    return true
  }
}
