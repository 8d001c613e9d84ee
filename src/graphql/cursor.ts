import { decodeCursor, encodeCursor, type RunCursor } from '../domain/cursor.ts'
import { badCursor } from '../domain/errors.ts'
import { hasEnded, type Run } from '../domain/run.ts'

/** The last stored entry, as of the row: what is read beside it is read later, and so never older. */
export function lastCursorOf(run: { readonly id: string; readonly nextSeq: number }): string {
  return encodeCursor({ runId: run.id, seq: run.nextSeq - 1, item: 0, offset: 0 })
}

/** Names no entry: the place before a conversation's first run, told by the conversation's own id. */
export function beginningOf(conversationId: string): RunCursor {
  return { runId: conversationId, seq: 0, item: 0, offset: 0 }
}

/**
 * A cursor that a client gave for this run. One past the end of an ended run has nothing after it, which is no fault.
 */
export function requireCursor(run: Run, text: string): RunCursor {
  const cursor = requireDecoded(text)
  if (cursor.runId !== run.id) throw badCursor('The cursor belongs to another run. Pass one that this run gave.')
  if (cursor.seq >= run.nextSeq && !hasEnded(run.status)) {
    throw badCursor('The cursor lies beyond what has happened in this run. Pass one that this run gave.')
  }
  return cursor
}

/**
 * A cursor that a client gave for this conversation: undefined for its beginning, else with the run that it lies in.
 */
export async function requireConversationCursor(
  conversation: { readonly id: string },
  text: string,
  loadRun: (runId: string) => Promise<Run | undefined>,
): Promise<{ readonly runId: string; readonly hold: number; readonly cursor: RunCursor } | undefined> {
  const decoded = requireDecoded(text)
  if (encodeCursor(decoded) === encodeCursor(beginningOf(conversation.id))) return undefined
  const run = await loadRun(decoded.runId)
  if (run?.conversationId !== conversation.id) {
    throw badCursor('The cursor belongs to another conversation. Pass one that this conversation gave.')
  }
  if (run.hold === null) {
    throw badCursor("The cursor's run has not had its turn in the conversation. Pass the conversation's lastCursor.")
  }
  return { runId: run.id, hold: run.hold, cursor: requireCursor(run, text) }
}

function requireDecoded(text: string): RunCursor {
  const cursor = decodeCursor(text)
  if (cursor) return cursor
  throw badCursor(`${JSON.stringify(text.slice(0, 100))} is no cursor. Pass an event's cursor or lastCursor unchanged.`)
}
