import type { ProviderData } from '../conversations/message.ts'
import type { ToolCallNeed } from '../tools/tool-call.ts'

/** A piece of a step that the model is writing. Its id is that of the message or call that it will become. */
export type LiveItem =
  | {
      readonly kind: 'ASSISTANT' | 'REASONING'
      readonly id: string
      text: string
      recent?: RecentText | undefined
      complete: boolean
      /** REASONING: encrypted or redacted by the provider, so there is no text. */
      redacted: boolean
      provider: ProviderData | null
    }
  | {
      readonly kind: 'CALL'
      readonly id: string
      readonly name: string
      readonly providerCallId: string
      /** What the call will wait for. Null if that depends on its arguments. */
      readonly needs: ToolCallNeed | null
      /** The arguments so far. */
      text: string
      recent?: RecentText | undefined
      complete: boolean
    }

/**
 * A second copy of the end of a growing text: readers that keep up take what is new from here. Reading any part of a
 * long string that was just appended to copies all of it, so doing that for every chunk would take quadratic time.
 */
export interface RecentText {
  from: number
  text: string
}

const recentLength = 512

/** Appends new text to an item. */
export function writeText(item: { text: string; recent?: RecentText | undefined }, text: string): void {
  const recent = (item.recent ??= { from: item.text.length, text: '' })
  recent.text += text
  const dropped = recent.text.length - recentLength
  if (dropped > recentLength) {
    recent.from += dropped
    recent.text = recent.text.slice(dropped)
  }
  item.text += text
}

/** A step that is being written. It belongs to the StepStarted or StepRestarted entry `seq`. */
export interface LiveStep {
  readonly seq: number
  readonly stepIndex: number
  readonly items: LiveItem[]
}

/** What readers see of a live step, whichever process writes it. */
export interface ShownStep {
  readonly seq: number
  readonly stepIndex: number
  readonly items: readonly ShownItem[]
}

export type ShownItem = ShownText & { readonly id: string } & (
    | { readonly kind: 'ASSISTANT' | 'REASONING' }
    | { readonly kind: 'CALL'; readonly name: string; readonly needs: ToolCallNeed | null }
  )

interface ShownText {
  readonly text: string
  readonly recent?: Readonly<RecentText> | undefined
  readonly complete: boolean
}

/** Part of an item's text, without touching the whole text if the part is recent. */
export function sliceText({ text, recent }: ShownText, from: number, to: number): string {
  return recent && from >= recent.from ? recent.text.slice(from - recent.from, to - recent.from) : text.slice(from, to)
}

/** How much of a live step someone has: all items before `item`, and `offset` UTF-16 units of that one. */
export interface LivePosition {
  readonly item: number
  readonly offset: number
}

/**
 * The part of an item that can be shown and stored: everything but half of a surrogate pair whose other half is still
 * to come.
 */
function sendableLength(item: ShownText): number {
  const { length } = item.text
  return !item.complete && isHigh(sliceText(item, length - 1, length)) ? length - 1 : length
}

export interface LivePiece extends LivePosition {
  readonly live: ShownItem
  readonly end: number
}

/** What a live step has beyond a position: the rest of one item, and only once the items before it are complete. */
export function pieceBeyond(items: readonly ShownItem[], position: LivePosition): LivePiece | undefined {
  let { item, offset } = position
  for (;;) {
    const live = items[item]
    if (!live) return undefined
    const end = sendableLength(live)
    if (offset < end) return { live, item, offset: wholeOffset(live, offset), end }
    if (!live.complete) return undefined
    item += 1
    offset = 0
  }
}

/** The offset, or one less if it would split a surrogate pair. */
function wholeOffset(item: ShownText, offset: number): number {
  if (offset === 0) return 0
  const around = sliceText(item, offset - 1, offset + 1)
  return around.length === 2 && around.codePointAt(0)! > 0xffff ? offset - 1 : offset
}

function isHigh(unit: string): boolean {
  return (unit.charCodeAt(0) & 0xfc00) === 0xd800
}
