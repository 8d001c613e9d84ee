import { sql } from 'kysely'

import type { ShownItem } from '../../domain/runs/live-step.ts'
import { callsOfMessage, type MessageType } from '../../domain/conversations/message.ts'
import { fromJsonRow, type JsonRow } from '../database/columns.ts'
import type { Db } from '../database/schema.ts'
import { toToolCall } from '../tools/tool-calls.ts'

/** A text that was streamed, read from the message or call that it became. */
export type StreamedItem = ShownItem & { readonly stepIndex: number }

/** `place` says which of the message's calls is meant. A text message has no calls, so it means the message itself. */
export async function findStreamedItem(
  db: Db,
  runId: string,
  messageId: string,
  place: number,
): Promise<StreamedItem | undefined> {
  const { rows } = await sql<{
    type: MessageType
    step_index: number
    content: { readonly text?: string }
    calls: readonly JsonRow[] | null
  }>`
    select type, step_index, content, (select jsonb_agg(to_jsonb(tool_calls) order by ordinal) from tool_calls
      where messages.type not in ('ASSISTANT', 'REASONING')
        and run_id = ${runId} and tool_calls.step_index = messages.step_index) as calls
    from messages where id = ${messageId}`.execute(db)
  const row = rows[0]
  if (!row) return undefined
  if (row.type === 'ASSISTANT' || row.type === 'REASONING') {
    return { kind: row.type, id: messageId, text: row.content.text ?? '', complete: true, stepIndex: row.step_index }
  }
  const calls = (row.calls ?? []).map((call) => toToolCall(fromJsonRow<'tool_calls'>(call)))
  const call = callsOfMessage(row.type, calls)[place]
  return (
    call && {
      kind: 'CALL',
      id: call.id,
      name: call.name,
      needs: call.needs,
      text: call.argumentsText,
      complete: true,
      stepIndex: row.step_index,
    }
  )
}
