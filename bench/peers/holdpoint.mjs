// Holdpoint, as a server and as a library: both ask the same API, one by HTTP, the other by `app.fetch`.
import { createApp } from '../../src/index.ts'
import { databaseUrl, instructions, lookUp, modelUrl, obeyStdin, toolDescription } from './serve.mjs'

const parameters = { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] }
const app = await createApp({
  tools: [{ name: 'look_up', description: toolDescription, parameters, run: lookUp }],
  settings: {
    PORT: 0,
    LOG_LEVEL: 'error',
    DATABASE_URL: databaseUrl,
    OPENAI_CHAT_BASE_URL: modelUrl,
    OPENAI_CHAT_API_KEY: 'none',
    ...JSON.parse(process.env.SETTINGS ?? '{}'),
  },
})
const { url } = await app.start()

async function ask(query, input) {
  const response = await app.fetch('http://localhost/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables: { input } }),
  })
  const { data, errors } = await response.json()
  if (errors) throw new Error(JSON.stringify(errors))
  return data
}

const created = await ask('mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }', {
  name: 'weather',
  model: 'openai-chat/fake',
  instructions,
  includeBaseTools: false,
  tools: [{ toolName: 'look_up' }],
})

async function createConversation() {
  const { createConversation } = await ask(
    'mutation ($input: CreateConversationInput!) { createConversation(input: $input) { conversation { id } } }',
    { agentId: created.createAgent.agent.id },
  )
  return createConversation.conversation.id
}

async function takeTurn(conversationId, text) {
  const { sendMessage } = await ask(
    `mutation ($input: SendMessageInput!) { sendMessage(input: $input) { __typename
      ... on SendMessageSuccess { run { status answer } } ... on Refusal { message } } }`,
    { to: { conversationId }, messages: [{ text }], waitMs: 30_000 },
  )
  return sendMessage.run?.answer ?? JSON.stringify(sendMessage)
}

obeyStdin(takeTurn, (names) => Promise.all(names.map(createConversation)))
console.log(url)
