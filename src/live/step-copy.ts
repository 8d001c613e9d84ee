import {
  sliceText,
  writeText,
  type LivePiece,
  type LivePosition,
  type RecentText,
  type ShownItem,
  type ShownStep,
} from '../domain/runs/live-step.ts'
import type { ToolCallNeed } from '../domain/tools/tool-call.ts'

/** A piece of a live step's text on its way to another process. */
export interface Patch extends LivePosition {
  /**
   * The seq of the StepStarted or StepRestarted entry that the step belongs to. A later step replaces an earlier one.
   */
  readonly seq: number
  readonly stepIndex: number
  readonly text: string
  /** Whether the item ends with this piece. */
  readonly complete: boolean
  /**
   * Only at offset 0: describes the item that begins here. `before` is the length of all earlier items, which are
   * complete.
   */
  readonly opening?: {
    readonly kind: ShownItem['kind']
    readonly id: string
    readonly name: string
    readonly needs: ToolCallNeed | null
    readonly before: number
  }
}

/** Makes a patch of at most `size` UTF-16 units. A long text takes several patches. `size` must be at least 2. */
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

interface CopiedItem {
  readonly kind: ShownItem['kind']
  readonly id: string
  readonly name: string
  readonly needs: ToolCallNeed | null
  text: string
  recent?: RecentText | undefined
  complete: boolean
}

/** A copy of a live step that another process writes, as far as its text has arrived here. */
export class StepCopy implements ShownStep {
  readonly seq: number
  readonly stepIndex: number
  readonly #items: CopiedItem[] = []

  constructor({ seq, stepIndex }: Patch) {
    this.seq = seq
    this.stepIndex = stepIndex
  }

  get items(): readonly ShownItem[] {
    return this.#items
  }

  /** The place after the text that has arrived. */
  get position(): LivePosition {
    const open = this.#items.at(-1)
    return open && !open.complete
      ? { item: this.#items.length - 1, offset: open.text.length }
      : { item: this.#items.length, offset: 0 }
  }

  /**
   * Adds the new part of a patch; repeating a patch changes nothing. Returns false if text before the patch is missing.
   */
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
    // Items without text are never sent, and the patch that completed an item may have been lost.
    for (const earlier of this.#items) earlier.complete = true
    while (this.#items.length < item) {
      this.#items.push({ kind: 'REASONING', id: '', name: '', needs: null, text: '', complete: true })
    }
    this.#items.push({ ...opening, text: '', complete: false })
    return true
  }
}
