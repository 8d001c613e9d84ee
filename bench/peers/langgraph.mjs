// LangGraph.js: an agent and a tool node in a graph, with PostgresSaver as its checkpointer.
import { tool } from '@langchain/core/tools'
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres'
import { ToolNode } from '@langchain/langgraph/prebuilt'
import { ChatOpenAI } from '@langchain/openai'
import pg from 'pg'
import { z } from 'zod'

import { databaseUrl, instructions, lookUp, modelUrl, serve, toolDescription } from './serve.mjs'

const checkpointer = new PostgresSaver(new pg.Pool({ connectionString: databaseUrl, max: 20 }))
await checkpointer.setup()
const tools = [tool(lookUp, { name: 'look_up', description: toolDescription, schema: z.object({ place: z.string() }) })]
const model = new ChatOpenAI({
  model: 'fake',
  apiKey: 'none',
  streaming: true,
  configuration: { baseURL: modelUrl },
}).bindTools(tools)

const graph = new StateGraph(MessagesAnnotation)
  .addNode('agent', async ({ messages }) => ({
    messages: [await model.invoke([{ role: 'system', content: instructions }, ...messages])],
  }))
  .addNode('tools', new ToolNode(tools))
  .addEdge(START, 'agent')
  .addConditionalEdges('agent', ({ messages }) => (messages.at(-1).tool_calls?.length > 0 ? 'tools' : END))
  .addEdge('tools', 'agent')
  .compile({ checkpointer })

serve(async (conversation, text) => {
  const config = { configurable: { thread_id: conversation }, streamMode: 'messages' }
  let answer = ''
  for await (const [message] of await graph.stream({ messages: [{ role: 'user', content: text }] }, config)) {
    if (message.getType() === 'ai') answer += message.text
  }
  return answer
})
