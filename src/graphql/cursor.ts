import { decodeCursor, encodeCursor, type RunCursor } from '../domain/cursor.ts'
import { badCursor } from '../domain/errors.ts'
import { hasEnded, type Run } from '../domain/run.ts'

/** The last stored entry, as of the row: what is read beside it is read later, and so never older. */
export function lastCursorOf(run: { readonly id: string; readonly nextSeq: number }): string {
  return encodeCursor({ runId: run.id, seq: run.nextSeq - 1, item: 0, offset: 0 })
}

/** A cursor that a client gave for this run. One past the end of an ended run has nothing after it, which is no fault. */
export function requireCursor(run: Run, text: string): RunCursor {
  const cursor = decodeCursor(text)
  if (!cursor) {
    throw badCursor(
      `${JSON.stringify(text.slice(0, 100))} is no cursor. Pass an event's cursor or lastCursor unchanged.`,
    )
  }
  if (cursor.runId !== run.id) throw badCursor('The cursor belongs to another run. Pass one that this run gave.')
  if (cursor.seq >= run.nextSeq && !hasEnded(run.status)) {
    throw badCursor('The cursor lies beyond what has happened in this run. Pass one that this run gave.')
  }
  return cursor
}
