import type pg from 'pg'

/**
 * Adds turns to a conversation as if they had happened: each has two messages, a step, a tool call and a log. The
 * conversation must not have an active run.
 */
export async function addTurns(pool: pg.Pool, conversationId: string, count: number): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const { rows } = await client.query<{ number: number; hold: number; position: number }>(
      `update conversations set next_run_number = next_run_number + $2, next_hold = next_hold + $2,
         next_position = next_position + 2 * $2, context_from = next_position + 2 * $2
       where id = $1
       returning next_run_number - $2 as number, next_hold - $2 as hold, next_position - 2 * $2 as position`,
      [conversationId, count],
    )
    const { number, hold, position } = rows[0]!
    await client.query(
      `create temporary table added on commit drop as
       select gen_random_uuid() as id, n, ${number} + n as number, ${hold} + n as hold, ${position} + 2 * n as position
       from generate_series(0, $1::integer - 1) n`,
      [count],
    )
    await client.query(
      `insert into runs (id, tenant_id, agent_id, conversation_id, number, hold, previous_hold, kind, urgent, max_steps,
         created_at, request, metadata, status, stop_reason, next_seq, first_position, next_position, updated_at, finished_at)
       select added.id, tenant_id, agent_id, conversations.id, number, hold, hold - 1, 'TURN', false, 50, now(),
         '{"messages":[],"clientTools":[]}', '{}', 'COMPLETED', 'END_TURN', 4, position, position + 2, now(), now()
       from added, conversations where conversations.id = $1`,
      [conversationId],
    )
    await client.query(
      `insert into messages (id, conversation_id, position, run_hold, step_index, type, created_at, content)
       select gen_random_uuid(), $1, position + part, hold, case part when 1 then 0 end,
         case part when 0 then 'USER' else 'ASSISTANT' end, now(),
         case part when 0 then jsonb_build_object('content', jsonb_build_array(jsonb_build_object('text', 'turn ' || n)))
           else jsonb_build_object('text', 'turn ' || n, 'interrupted', false, 'provider', null) end
       from added, generate_series(0, 1) part`,
      [conversationId],
    )
    await client.query(
      `insert into steps (run_id, index, attempt, model, created_at, status, finished_at)
       select id, 0, 1, 'demo/scripted', now(), 'COMPLETED', now() from added`,
    )
    await client.query(
      `insert into tool_calls (id, tenant_id, run_id, step_index, ordinal, provider_call_id, name, arguments_text, arguments,
         needs, created_at, status, finished_at, result)
       select gen_random_uuid(), tenant_id, added.id, 0, 0, 'call', 'look_up', '{}', '{}', 'NOTHING', now(), 'SUCCEEDED',
         now(), '{"status":"SUCCESS","output":""}'
       from added, conversations where conversations.id = $1`,
      [conversationId],
    )
    await client.query(
      `insert into run_log (run_id, first_seq, at, entries)
       select id, 2, now(), '[["s","RUNNING"],["s","COMPLETED"]]' from added`,
    )
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  } finally {
    client.release()
  }
}
