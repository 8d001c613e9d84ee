import { hexOfUuid, uuidOfHex } from '../util/ids.ts'

/**
 * A place in a run's stream: after the entry `seq` and, if that entry is a StepStarted or StepRestarted, after `offset`
 * UTF-16 units of item `item` in the live step that follows it.
 */
export interface RunCursor {
  readonly runId: string
  readonly seq: number
  readonly item: number
  readonly offset: number
}

/** What the reader of a conversation knows besides its place in a run's stream. */
export interface KnownState {
  /**
   * The last run of the branch that the reader knows as current, by its `hold`. Undefined if it is the cursor's run.
   */
  readonly tip: number | undefined
  /** The tag of the queue that the reader knows. Empty for an empty queue. */
  readonly queue: string
}

export interface DecodedCursor extends RunCursor, KnownState {
  /** Whether it is of a conversation's stream. */
  readonly ofConversation: boolean
  readonly conversationTag: string
}

/**
 * Written as `c1.<run>.<conversation>.<seq>`, then `.<item>.<offset>` inside a live step, then what the reader of a
 * conversation knows: `.b<tip>` and `.q<queue>`. Every cursor of a conversation has `.q`, also if the queue is empty.
 * Opaque to clients and equal on every process. It names the conversation, because a cursor outlives its run if the
 * conversation is cleared.
 */
export function encodeCursor(conversationId: string, cursor: RunCursor, known?: KnownState): string {
  const run = hexOfUuid(cursor.runId)
  const live = cursor.item > 0 || cursor.offset > 0 ? `.${cursor.item}.${cursor.offset}` : ''
  return `c1.${run}.${conversationTag(conversationId)}.${cursor.seq}${live}${encodeKnown(known)}`
}

export function encodeKnown(known: KnownState | undefined): string {
  if (!known) return ''
  const tip = known.tip === undefined ? '' : `.b${known.tip}`
  return `${tip}.q${known.queue}`
}

const pattern =
  /^c1\.([0-9a-f]{32})\.([0-9a-f]{8})\.(0|[1-9][0-9]{0,8})(?:\.(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,9}))?(?:\.b(0|[1-9][0-9]{0,8}))?(\.q([0-9a-f]{8})?)?$/

/** Undefined for anything that `encodeCursor` cannot have produced. */
export function decodeCursor(text: string): DecodedCursor | undefined {
  const match = pattern.exec(text)
  if (!match) return undefined
  const [, hex = '', tag = '', seq, item, offset, tip, mark, queue] = match
  return {
    runId: uuidOfHex(hex),
    conversationTag: tag,
    seq: Number(seq),
    item: Number(item ?? 0),
    offset: Number(offset ?? 0),
    tip: tip === undefined ? undefined : Number(tip),
    queue: queue ?? '',
    ofConversation: mark !== undefined || tip !== undefined,
  }
}

/** The last digits of the id, which are random. */
export function conversationTag(conversationId: string): string {
  return conversationId.slice(-8)
}
