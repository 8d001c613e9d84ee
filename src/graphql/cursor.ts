import { conversationTag, decodeCursor, type DecodedCursor, encodeCursor, type RunCursor } from '../domain/cursor.ts'
import { badCursor } from '../domain/errors.ts'
import { hasEnded, type Run } from '../domain/runs/run.ts'
import type { ConversationStart } from '../live/follow-conversation.ts'
import type { ConversationHead } from '../store/conversations/conversation-heads.ts'

/** The last stored entry, taken from the row. Other fields are read after it, so they are never older. */
export function lastCursorOf(run: {
  readonly id: string
  readonly conversationId: string
  readonly nextSeq: number
}): string {
  return encodeCursor(run.conversationId, { runId: run.id, seq: run.nextSeq - 1, item: 0, offset: 0 })
}

/** The same for a conversation. */
export function lastCursorOfConversation(head: ConversationHead): string {
  const { conversationId, lastEntry, lastHold, tipHold, queue } = head
  if (!lastEntry) {
    return encodeCursor(conversationId, beginningOf(conversationId), {
      tip: tipHold === 0 ? undefined : tipHold,
      queue: queue.tag,
    })
  }
  const tip = tipHold === lastHold ? undefined : tipHold
  return encodeCursor(conversationId, { ...lastEntry, item: 0, offset: 0 }, { tip, queue: queue.tag })
}

/** Names no entry but the conversation itself: the place before its first run. */
function beginningOf(conversationId: string): RunCursor {
  return { runId: conversationId, seq: 0, item: 0, offset: 0 }
}

/**
 * Decodes a cursor that a client gave for this run. A cursor at the end of an ended run is valid: nothing follows it.
 */
export function requireCursor(run: Run, text: string): RunCursor {
  return inRun(run, requireDecoded(text))
}

/** The same, without cursors of the conversation's stream, which also know its queue and branch. */
export function requireRunCursor(run: Run, text: string): RunCursor {
  const cursor = requireDecoded(text)
  if (!cursor.ofConversation) return inRun(run, cursor)
  throw badCursor('The cursor is one of `conversationEvents`. Pass a cursor of `runEvents` or of `Run.events`.')
}

function inRun(run: Run, cursor: DecodedCursor): RunCursor {
  if (cursor.runId !== run.id || cursor.conversationTag !== conversationTag(run.conversationId)) {
    throw badCursor('The cursor belongs to another run. Pass a cursor of this run.')
  }
  if (cursor.seq >= run.nextSeq && !hasEnded(run.status)) {
    throw badCursor('The cursor is beyond the last event of this run. Pass a cursor of this run.')
  }
  const { runId, seq, item, offset } = cursor
  return { runId, seq, item, offset }
}

/** Where a client's cursor is in the stream of this conversation. */
export async function requireConversationCursor(
  conversation: { readonly id: string },
  text: string,
  loadRun: (runId: string) => Promise<Run | undefined>,
): Promise<ConversationStart> {
  const decoded = requireDecoded(text)
  const { tip, queue } = decoded
  const beginning = { hold: 0, cursor: undefined, follow: false, tip: tip ?? 0, queue }
  const run = decoded.runId === conversation.id ? undefined : await loadRun(decoded.runId)
  if (
    decoded.conversationTag !== conversationTag(conversation.id) ||
    (run && run.conversationId !== conversation.id) ||
    (decoded.runId === conversation.id && decoded.seq > 0)
  ) {
    throw badCursor('The cursor belongs to another conversation. Pass a cursor of this conversation.')
  }
  // The conversation was cleared since, so all its runs are newer than the cursor.
  if (!run) return beginning
  if (run.hold === null) {
    throw badCursor("The cursor's run has not held the conversation yet. Pass the conversation's lastCursor.")
  }
  const cursor = inRun(run, decoded)
  const { resumed } = run
  const isEarlier = resumed !== null && cursor.seq < resumed.seq
  const hold = isEarlier ? resumed.holds[0]! : run.hold
  const known = tip ?? hold
  return { hold, cursor, follow: !isEarlier && known === hold, tip: known, queue }
}

function requireDecoded(text: string): DecodedCursor {
  const cursor = decodeCursor(text)
  if (cursor) return cursor
  throw badCursor(
    `${JSON.stringify(text.slice(0, 100))} is not a cursor. Pass an event's cursor or lastCursor unchanged.`,
  )
}
