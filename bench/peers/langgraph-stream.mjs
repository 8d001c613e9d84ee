// LangGraph.js behind HTTP: an agent in a graph with PostgresSaver, whose messages are sent as server-sent events.
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres'
import { ChatOpenAI } from '@langchain/openai'
import pg from 'pg'

import { databaseUrl, modelUrl, serveStream } from './serve.mjs'

const checkpointer = new PostgresSaver(new pg.Pool({ connectionString: databaseUrl, max: 20 }))
await checkpointer.setup()
const model = new ChatOpenAI({ model: 'fake', apiKey: 'none', streaming: true, configuration: { baseURL: modelUrl } })

const graph = new StateGraph(MessagesAnnotation)
  .addNode('agent', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
  .addEdge(START, 'agent')
  .addEdge('agent', END)
  .compile({ checkpointer })

serveStream(async (conversation, text, write) => {
  const config = { configurable: { thread_id: conversation }, streamMode: 'messages' }
  for await (const [message] of await graph.stream({ messages: [{ role: 'user', content: text }] }, config)) {
    write({ text: message.text })
  }
})
