import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { startTestApp, type TestApp } from '../support/app.ts'
import { createGatedModel, gatedHandle } from '../support/gated-model.ts'
import { createGraphQLClient, type GraphQLClient } from '../support/graphql-client.ts'
import { haveNginx, startNginx } from '../support/nginx.ts'

const model = createGatedModel()
let app: TestApp

beforeAll(async () => {
  app = await startTestApp({ providers: [model.provider] })
})
afterAll(() => app.stop())

const query = 'subscription ($run: ID!) { runEvents(runId: $run) { __typename ... on TextDelta { text } } }'

/** The text of each delta, as it arrives. */
const streams = {
  async *SSE(client: GraphQLClient, run: string) {
    for await (const { data } of await client.events(query, { run })) yield data.runEvents.text
  },
  async *WebSocket(client: GraphQLClient, run: string) {
    const socket = client.webSocket()
    for await (const { data } of socket.stream(query, { run })) yield data.runEvents.text
    await socket.dispose()
  },
  async *multipart(client: GraphQLClient, run: string) {
    const response = await fetch(client.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'multipart/mixed;subscriptionSpec="1.0"' },
      body: JSON.stringify({ query, variables: { run } }),
    })
    let text = ''
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      const parts = (text + chunk).split('\r\n--graphql')
      text = parts.pop()!
      for (const part of parts) {
        const json = part.split('\r\n\r\n')[1]
        const payload = json && JSON.parse(json).payload
        if (payload) yield payload.data.runEvents.text
      }
    }
  },
}

describe.runIf(haveNginx)('behind nginx, configured as documented', () => {
  it.each(Object.entries(streams))(
    '[PRX1] each word arrives before the next one is written: %s',
    async (_name, follow) => {
      const { host } = new URL(app.url)
      const client = createGraphQLClient(`${await startNginx(host)}/graphql`)
      const { createAgent } = await client.data(
        `mutation { createAgent(input: { name: "Ada", model: "${gatedHandle}" }) { agent { id } } }`,
      )
      const { sendMessage } = await client.data(
        `mutation ($input: SendMessageInput!) { sendMessage(input: $input) { ... on SendMessageSuccess { run { id } } } }`,
        { input: { to: { agentId: createAgent.agent.id }, messages: [{ content: [{ text: 'count' }] }] } },
      )
      const call = await model.nextCall()
      call.say('one')
      const words = []
      for await (const text of follow(client, sendMessage.run.id)) {
        if (text === undefined) continue
        words.push(text)
        if (words.length < 5) call.say(`, ${words.length}`)
        else call.finish()
      }
      expect(words).toEqual(['one', ', 1', ', 2', ', 3', ', 4'])
    },
  )
})
