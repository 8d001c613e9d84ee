// A relay as anyone would write it: the openai package, and each piece of text as a server-sent event. It stores nothing.
import OpenAI from 'openai'

import { modelUrl, serveStream } from './serve.mjs'

const openai = new OpenAI({ baseURL: modelUrl, apiKey: 'none' })

serveStream(async (_conversation, text, write) => {
  const chunks = await openai.chat.completions.create({
    model: 'fake',
    messages: [{ role: 'user', content: text }],
    stream: true,
  })
  for await (const chunk of chunks) write({ text: chunk.choices[0]?.delta.content })
})
