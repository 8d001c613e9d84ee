import { createClient as createSocketClient } from 'graphql-ws'
import { afterAll, test } from 'vitest'
import { WebSocket } from 'ws'

import { createClient } from '../../client/client.ts'
import { followRun } from '../../client/follow-run.ts'
import { startTestApp } from '../support/app.ts'
import { createGatedModel, gatedHandle } from '../support/gated-model.ts'
import { createGraphQLClient } from '../support/graphql-client.ts'
import { talkTo } from '../support/talk.ts'
import { createWatch } from './ground.ts'

const model = createGatedModel()

const app = await startTestApp({ providers: [model.provider], env: { HOLDPOINT_API_KEY: 'hp_admin' } })
const admin = createGraphQLClient(app.url, { authorization: 'Bearer hp_admin' })
afterAll(() => app.stop())

/** Like a product's backend: each token is valid for only a few seconds. */
function createTokenSource() {
  const source = {
    count: 0,
    async next(): Promise<string> {
      const { createToken } = await admin.data(
        'mutation { createToken(input: { subject: "ada", scopes: [READ], expiresInSeconds: 4 }) { token } }',
      )
      source.count += 1
      return createToken.token
    },
  }
  return source
}

/** The tests wait at the same time, so each starts its run alone and takes the model's call. */
let starting: Promise<unknown> = Promise.resolve()
function startRun() {
  const started = starting.then(async () => {
    const talk = talkTo(admin)
    const runId = await talk.start(await talk.createAgent({ model: gatedHandle }), 'go')
    return { runId, call: await model.nextCall() }
  })
  starting = started
  return started
}

test.concurrent.for(['graphql-ws', 'event streams'])(
  '[TOK6] a run is followed past the expiry of a token, without a gap or a repeat, over %s',
  async (transport, { expect }) => {
    const tokens = createTokenSource()
    const socket = createSocketClient({
      url: app.url.replace(/^http/, 'ws'),
      retryAttempts: 0,
      webSocketImpl: WebSocket,
      connectionParams: async () => ({ Authorization: `Bearer ${await tokens.next()}` }),
    })
    const client =
      transport === 'graphql-ws'
        ? createClient({ url: app.url, socket })
        : createClient({ url: app.url, key: tokens.next })
    const { runId, call } = await startRun()
    const watch = createWatch()
    const events: string[] = []
    const ended = Promise.withResolvers<void>()
    const { transcript, stop } = followRun(client, runId, {
      onChange: watch.look,
      onEvent: ({ __typename, cursor }) => void events.push(`${__typename} ${cursor}`),
      onEnd: () => ended.resolve(),
      onError: ended.reject,
    })
    const live = () => transcript.state.entries.flatMap((entry) => (entry.kind === 'live' ? [entry.text] : []))[0]
    call.say('One ')
    await watch.until(() => live() === 'One ')
    const before = tokens.count
    await expect.poll(() => tokens.count, { timeout: 20_000 }).toBeGreaterThan(before)
    call.say('two ')
    await watch.until(() => live() === 'One two ')
    call.say('three.')
    call.finish()
    await ended.promise
    const texts = transcript.state.entries.map((entry) => (entry.kind === 'message' ? entry.message.text : ''))
    expect(texts).toEqual(['go', 'One two three.'])
    expect(new Set(events).size).toBe(events.length)
    stop()
    await socket.dispose()
  },
)
