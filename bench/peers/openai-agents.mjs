// The OpenAI Agents SDK: a streamed run with a session of its own in Postgres, as its guide on sessions shows.
import { Agent, run, setDefaultOpenAIClient, setOpenAIAPI, setTracingDisabled, tool } from '@openai/agents'
import OpenAI from 'openai'
import pg from 'pg'
import { z } from 'zod'

import { databaseUrl, instructions, lookUp, modelUrl, serve, toolDescription } from './serve.mjs'

setDefaultOpenAIClient(new OpenAI({ baseURL: modelUrl, apiKey: 'none' }))
setOpenAIAPI('chat_completions')
setTracingDisabled(true)
const pool = new pg.Pool({ connectionString: databaseUrl, max: 20 })
await pool.query(`
  create table items (id bigserial primary key, session text not null, item jsonb not null);
  create index on items (session, id)`)

class PostgresSession {
  #id
  constructor(id) {
    this.#id = id
  }
  async getSessionId() {
    return this.#id
  }
  async getItems(limit) {
    const { rows } = await pool.query(
      'select item from (select id, item from items where session = $1 order by id desc limit $2) newest order by id',
      [this.#id, limit ?? null],
    )
    return rows.map((row) => row.item)
  }
  async addItems(items) {
    await pool.query('insert into items (session, item) select $1, unnest($2::jsonb[])', [
      this.#id,
      items.map((item) => JSON.stringify(item)),
    ])
  }
  async popItem() {
    const { rows } = await pool.query(
      'delete from items where id = (select max(id) from items where session = $1) returning item',
      [this.#id],
    )
    return rows[0]?.item
  }
  async clearSession() {
    await pool.query('delete from items where session = $1', [this.#id])
  }
}

const agent = new Agent({
  name: 'weather',
  model: 'fake',
  instructions,
  tools: [
    tool({
      name: 'look_up',
      description: toolDescription,
      parameters: z.object({ place: z.string() }),
      execute: lookUp,
    }),
  ],
})

serve(async (conversation, text) => {
  const result = await run(agent, text, { stream: true, session: new PostgresSession(conversation) })
  for await (const _event of result);
  await result.completed
  return result.finalOutput
})
