import type { ProviderData } from './message.ts'

/** A piece of a step as the model writes it. Its id is that of the message or call it will become. */
export type LiveItem =
  | {
      readonly kind: 'ASSISTANT' | 'REASONING'
      readonly id: string
      text: string
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
      /** The arguments so far. */
      text: string
      complete: boolean
    }

/** A step that is being written: what belongs to the StepStarted or StepRestarted entry `seq`. */
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

export type ShownItem = { readonly id: string; readonly text: string; readonly complete: boolean } & (
  { readonly kind: 'ASSISTANT' | 'REASONING' } | { readonly kind: 'CALL'; readonly name: string }
)

/** How much of a live step someone has: all items before `item`, and `offset` UTF-16 units of it. */
export interface LivePosition {
  readonly item: number
  readonly offset: number
}

/** What of an item can be shown and kept: all but half a surrogate pair, whose other half is still to come. */
export function sendableLength({ text, complete }: Pick<LiveItem, 'text' | 'complete'>): number {
  const last = text.charCodeAt(text.length - 1)
  return !complete && last >= 0xd800 && last <= 0xdbff ? text.length - 1 : text.length
}

export interface LivePiece extends LivePosition {
  readonly live: ShownItem
  readonly end: number
}

/** What a live step has beyond a position: of one item, and only once the ones before it are complete. */
export function pieceBeyond(items: readonly ShownItem[], position: LivePosition): LivePiece | undefined {
  let { item, offset } = position
  for (;;) {
    const live = items[item]
    if (!live) return undefined
    const end = sendableLength(live)
    if (offset < end) return { live, item, offset: wholeOffset(live.text, offset), end }
    if (!live.complete) return undefined
    item += 1
    offset = 0
  }
}

/** The offset, or the one before it where it would split a surrogate pair. */
function wholeOffset(text: string, offset: number): number {
  const isLow = (text.charCodeAt(offset) & 0xfc00) === 0xdc00
  const afterHigh = (text.charCodeAt(offset - 1) & 0xfc00) === 0xd800
  return isLow && afterHigh ? offset - 1 : offset
}
