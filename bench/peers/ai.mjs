// The AI SDK: streamText with tools, and the messages of the chat saved when the answer is finished.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { isStepCount, streamText, tool } from 'ai'
import pg from 'pg'
import { z } from 'zod'

import { databaseUrl, instructions, lookUp, modelUrl, serve, toolDescription } from './serve.mjs'

const model = createOpenAICompatible({ name: 'fake', baseURL: modelUrl, apiKey: 'none' })('fake')
const pool = new pg.Pool({ connectionString: databaseUrl, max: 20 })
await pool.query('create table chats (id text primary key, messages jsonb not null)')
const tools = {
  look_up: tool({ description: toolDescription, inputSchema: z.object({ place: z.string() }), execute: lookUp }),
}

serve(async (conversation, text) => {
  const { rows } = await pool.query('select messages from chats where id = $1', [conversation])
  const messages = [...(rows[0]?.messages ?? []), { role: 'user', content: text }]
  const result = streamText({ model, instructions, messages, tools, stopWhen: isStepCount(5) })
  await result.consumeStream()
  const answered = [...messages, ...(await result.response).messages]
  await pool.query(
    'insert into chats (id, messages) values ($1, $2) on conflict (id) do update set messages = excluded.messages',
    [conversation, JSON.stringify(answered)],
  )
  return result.text
})
