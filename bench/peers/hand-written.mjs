// A loop as anyone would write it in an afternoon: the openai package, six inserts per turn, nothing recovered.
import OpenAI from 'openai'
import pg from 'pg'

import { databaseUrl, instructions, lookUp, modelUrl, serve, toolDescription } from './serve.mjs'

const openai = new OpenAI({ baseURL: modelUrl, apiKey: 'none' })
const pool = new pg.Pool({ connectionString: databaseUrl, max: 20 })
await pool.query(`
  create table runs (id bigserial primary key, conversation text not null, started_at timestamptz not null default now());
  create table run_ends (run_id bigint primary key, status text not null, ended_at timestamptz not null default now());
  create table messages (id bigserial primary key, conversation text not null, content jsonb not null);
  create index on messages (conversation, id)`)
const tools = [
  {
    type: 'function',
    function: {
      name: 'look_up',
      description: toolDescription,
      parameters: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
    },
  },
]

serve(async (conversation, text) => {
  const { rows } = await pool.query('select content from messages where conversation = $1 order by id', [conversation])
  const messages = [{ role: 'system', content: instructions }, ...rows.map((row) => row.content)]
  const add = async (message) => {
    messages.push(message)
    await pool.query('insert into messages (conversation, content) values ($1, $2)', [conversation, message])
  }
  const run = await pool.query('insert into runs (conversation) values ($1) returning id', [conversation])
  await add({ role: 'user', content: text })
  for (;;) {
    const stream = openai.chat.completions.stream({ model: 'fake', messages, tools })
    for await (const _chunk of stream);
    const { content, tool_calls: calls } = await stream.finalMessage()
    await add({ role: 'assistant', content, ...(calls?.length > 0 && { tool_calls: calls }) })
    if (!(calls?.length > 0)) {
      await pool.query(`insert into run_ends (run_id, status) values ($1, 'COMPLETED')`, [run.rows[0].id])
      return content
    }
    for (const call of calls) {
      await add({ role: 'tool', tool_call_id: call.id, content: lookUp(JSON.parse(call.function.arguments)) })
    }
  }
})
