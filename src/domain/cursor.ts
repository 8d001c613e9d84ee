/**
 * A place in a run's stream: after the entry `seq`, and where that entry is a StepStarted or StepRestarted, after
 * `offset` UTF-16 units of the `item`-th item of the live step that follows it. Written as `c1.<run>.<seq>` or
 * `c1.<run>.<seq>.<item>.<offset>`: opaque to clients, the same on every process.
 */
export interface RunCursor {
  readonly runId: string
  readonly seq: number
  readonly item: number
  readonly offset: number
}

export function encodeCursor(cursor: RunCursor): string {
  const run = cursor.runId.replaceAll('-', '')
  const live = cursor.item > 0 || cursor.offset > 0 ? `.${cursor.item}.${cursor.offset}` : ''
  return `c1.${run}.${cursor.seq}${live}`
}

/** Undefined for anything that `encodeCursor` cannot have made. */
export function decodeCursor(text: string): RunCursor | undefined {
  const match = /^c1\.([0-9a-f]{32})\.(0|[1-9][0-9]{0,8})(?:\.(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,9}))?$/.exec(text)
  if (!match) return undefined
  const [, hex, seq, item, offset] = match
  const runId = hex!.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  return { runId, seq: Number(seq), item: Number(item ?? 0), offset: Number(offset ?? 0) }
}
