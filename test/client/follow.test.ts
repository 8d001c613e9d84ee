import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'

import { createClient, HoldpointError } from '../../client/client.ts'
import { Inbox, RunSnapshot, SendMessage, SubmitApprovals } from '../../client/documents.ts'
import { followConversation } from '../../client/follow-conversation.ts'
import { followRun } from '../../client/follow-run.ts'
import { followInbox } from '../../client/inbox.ts'
import type { ApprovalDecisionInput } from '../../client/schema-types.ts'
import type { Transcript } from '../../client/transcript.ts'
import type { OpenDatabase } from '../../src/store/database/open-database.ts'
import { deleteBatch, deleteRunLogs } from '../../src/store/retention.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { createTestDatabase } from '../support/database.ts'
import { createGatedModel, gatedHandle } from '../support/gated-model.ts'
import { createGraphQLClient } from '../support/graphql-client.ts'
import { spawnMain } from '../support/server-process.ts'
import { talkTo } from '../support/talk.ts'
import { createWatch, openEventClient, openGate, openSocketClient, type TestClient } from './ground.ts'

const textOf = ({ state }: Transcript): string[] =>
  state.entries.map((entry) =>
    entry.kind === 'call' ? entry.call.name : entry.kind === 'live' ? entry.text : entry.message.text,
  )

const model = createGatedModel()
let server: TestApp

beforeAll(async () => {
  server = await startTestApp({ providers: [model.provider] })
})
afterAll(() => server.stop())

describe.each([
  ['graphql-ws', openSocketClient],
  ['event streams', openEventClient],
  ['an app of the same program', (url: string) => openEventClient(url, undefined, server.app.fetch)],
])('following over %s', (_name, open) => {
  let opened: TestClient

  beforeAll(() => {
    opened = open(server.url)
  })
  afterAll(() => opened.close())

  async function send(conversationId: string, text: string): Promise<string> {
    const { sendMessage } = await opened.client.request(SendMessage, {
      input: { to: { conversationId }, messages: [{ text, clientId: text }] },
    })
    if (sendMessage?.__typename !== 'SendMessageSuccess') throw new Error(sendMessage?.message)
    return sendMessage.run.id
  }

  async function startConversation(): Promise<string> {
    const id = await talkTo(server).createAgent({ model: gatedHandle })
    const { agent } = await server.data('query ($id: ID!) { agent(id: $id) { mainConversation { id } } }', { id })
    return agent.mainConversation.id
  }

  test('[LIB7] after a cut connection a run continues where it was, without a gap or a repeat', async () => {
    const conversation = await startConversation()
    const run = await send(conversation, 'go')
    const call = await model.nextCall()
    const watch = createWatch()
    const events: string[] = []
    const ended = Promise.withResolvers<void>()
    const { transcript, stop } = followRun(opened.client, run, {
      onChange: watch.look,
      onEvent: ({ __typename, cursor }) => void events.push(`${__typename} ${cursor}`),
      onEnd: () => ended.resolve(),
    })
    call.say('One ')
    await watch.until(() => textOf(transcript).at(-1) === 'One ')
    opened.cut()
    call.say('two ')
    await watch.until(() => textOf(transcript).at(-1) === 'One two ')
    call.say('three.')
    call.finish()
    await ended.promise
    expect(textOf(transcript)).toEqual(['go', 'One two three.'])
    expect(transcript.state.latestRun).toMatchObject({ id: run, status: 'COMPLETED', stopReason: 'END_TURN' })
    expect(new Set(events).size).toBe(events.length)
    stop()
  })

  test('[LIB8] a conversation is opened in mid-answer, followed through cuts and several runs, and its older messages load', async () => {
    const conversation = await startConversation()
    for (const word of ['a', 'b', 'c']) {
      const run = await send(conversation, word)
      const call = await model.nextCall()
      call.say(`${word}!`)
      call.finish()
      await server.data('query ($id: ID!) { run(id: $id, waitMs: 60000) { id } }', { id: run })
    }
    await send(conversation, 'd')
    const call = await model.nextCall()
    call.say('Half ')

    const watch = createWatch()
    const follower = followConversation(opened.client, conversation, { pageSize: 4, onChange: watch.look })
    await watch.until(() => textOf(follower.transcript).at(-1) === 'Half ')
    expect(follower.hasOlder).toBe(true)
    opened.cut()
    call.say('whole.')
    call.finish()
    await watch.until(() => follower.transcript.state.latestRun?.status === 'COMPLETED')
    opened.cut()
    await send(conversation, 'e')
    const last = await model.nextCall()
    last.fail({ message: 'The model is on strike.', retryable: true })
    await watch.until(() => follower.transcript.state.latestRun?.status === 'FAILED')
    expect(follower.transcript.state.latestRun?.error?.message).toBe('The model is on strike.')

    while (follower.hasOlder) await follower.loadOlder()
    expect(textOf(follower.transcript)).toEqual(['a', 'a!', 'b', 'b!', 'c', 'c!', 'd', 'Half whole.', 'e'])
    follower.stop()
  })

  test('[LIB60] another version of a turn replaces the first, and the first comes back when it is chosen', async () => {
    const conversation = await startConversation()
    const answer = async (text: string): Promise<void> => {
      const call = await model.nextCall()
      call.say(text)
      call.finish()
    }
    const watch = createWatch()
    const follower = followConversation(opened.client, conversation, { onChange: watch.look })
    const shows = (...texts: string[]) => watch.until(() => textOf(follower.transcript).join() === texts.join())
    const first = await send(conversation, 'a')
    await answer('One.')
    await shows('a', 'One.')
    await watch.until(() => follower.transcript.state.latestRun?.status === 'COMPLETED')
    // While the connection is cut, too: the branch is a state, so a reader who was away is told of it.
    opened.cut()
    await server.data('mutation ($id: ID!) { regenerate(input: { runId: $id }) { __typename } }', { id: first })
    await answer('Two.')
    await shows('a', 'Two.')
    await watch.until(() => follower.transcript.state.latestRun?.status === 'COMPLETED')
    await server.data('mutation ($id: ID!) { selectBranch(input: { runId: $id }) { __typename } }', { id: first })
    await shows('a', 'One.')
    await send(conversation, 'b')
    await answer('Three.')
    await shows('a', 'One.', 'b', 'Three.')
    follower.stop()
  })

  test('[LIB66] a message says whether it is in the context when its run has failed, and again when a retry is over', async () => {
    const conversation = await startConversation()
    const watch = createWatch()
    const follower = followConversation(opened.client, conversation, { onChange: watch.look })
    const isInContext = (expected: boolean) =>
      watch.until(() => {
        const entry = follower.transcript.state.entries[0]
        return entry?.kind === 'message' && entry.message.inContext === expected
      })
    const run = await send(conversation, 'a')
    const call = await model.nextCall()
    await isInContext(true)
    call.fail({ message: 'The model is on strike.', retryable: true })
    await isInContext(false)
    await server.data('mutation ($id: ID!) { retryRun(input: { runId: $id }) { __typename } }', { id: run })
    const again = await model.nextCall()
    again.say('One.')
    again.finish()
    await isInContext(true)
    follower.stop()
  })

  test('[LIB65] a conversation whose events were deleted while its reader was away is loaded anew', async () => {
    const conversation = await startConversation()
    const gate = await openGate(server.url)
    onTestFinished(() => gate.shut())
    const away = open(gate.url)
    onTestFinished(() => away.close())
    const watch = createWatch()
    const follower = followConversation(away.client, conversation, { onChange: watch.look })
    const run = await send(conversation, 'a')
    const first = await model.nextCall()
    first.say('One.')
    await watch.until(() => textOf(follower.transcript).join() === 'a,One.')
    await gate.shut()
    first.call('no_such_tool', {})
    first.finish()
    const second = await model.nextCall()
    second.say('Two.')
    second.finish()
    await talkTo(server).settled(run)
    await deleteBatch(server.database.db, (trx) => deleteRunLogs(trx, [run.slice('run_'.length)]))
    await gate.open()
    await watch.until(() => follower.transcript.state.latestRun?.status === 'COMPLETED')
    await watch.until(() => textOf(follower.transcript).join() === 'a,One.,no_such_tool,Two.')
    follower.stop()
  })

  test('[LIB9] the inbox shows what waits, a decision reaches every follower, and the outcome follows it', async () => {
    const { createAgent, start } = talkTo(server)
    const name = 'sign'
    const implementation = { javascript: { source: "export default () => 'signed'" } }
    await server.data('mutation ($input: UpsertToolInput!) { upsertTool(input: $input) { tool { id } } }', {
      input: { name, requiresApproval: true, implementation },
    })
    const agent = await createAgent({ model: 'demo/scripted', tools: [name] })
    const watch = createWatch()
    const inbox = followInbox(opened.client, { onChange: watch.look })
    await watch.until(() => inbox.state.isLoaded)
    const run = await start(agent, `call ${name} {}\ncall ${name} {}`)
    await watch.until(() => inbox.state.calls.length === 2)
    const [waiting, other] = inbox.state.calls.toSorted((a, b) => (a.id < b.id ? -1 : 1))
    const follower = followRun(opened.client, run, { onChange: watch.look })
    await watch.until(() => follower.transcript.state.pendingCalls.length === 2)
    const decide = async (decision: ApprovalDecisionInput) =>
      opened.client.request(SubmitApprovals, { input: { runId: run, decisions: [decision] } })
    await decide({ approve: { toolCallId: waiting!.id } })
    await watch.until(() => inbox.state.settled.length === 1)
    expect(inbox.state.settled).toMatchObject([
      { id: waiting!.id, status: 'READY', decision: { kind: 'APPROVED', decidedBy: 'open' } },
    ])
    await decide({ deny: { toolCallId: other!.id } })
    await watch.until(() => inbox.state.settled[1]?.status === 'SUCCEEDED')
    expect(inbox.state.settled).toMatchObject([
      { id: other!.id, status: 'DENIED', agent: { id: agent } },
      { id: waiting!.id, result: { output: 'signed' }, agent: { id: agent } },
    ])
    await watch.until(() => follower.transcript.state.latestRun?.status === 'COMPLETED')
    expect(follower.transcript.state.pendingCalls).toEqual([])
    const call = follower.transcript.state.entries.find((entry) => entry.kind === 'call')
    expect(call?.call).toMatchObject({ status: 'SUCCEEDED', result: { output: 'signed' } })
    await watch.until(() => inbox.state.calls.length === 0)
    expect(inbox.state.totalCount).toBe(0)
    inbox.stop()
    follower.stop()
  })

  test('[LIB10] if the server refuses, following ends with its code and is not retried', async () => {
    const refused = Promise.withResolvers<Error>()
    followRun(opened.client, 'run_00000000000000000000000000', { onError: refused.resolve })
    expect(await refused.promise).toBeInstanceOf(HoldpointError)
    const missing = Promise.withResolvers<Error>()
    followConversation(opened.client, 'conv_0', { onError: missing.resolve })
    expect(await missing.promise).toMatchObject({ code: expect.stringMatching(/NOT_FOUND|BAD_USER_INPUT/) })
  })
})

describe('a server that is killed', () => {
  let database: OpenDatabase
  beforeAll(async () => {
    database = await createTestDatabase()
  })
  afterAll(async () => database.close())

  test('[LIB11] is followed through its death in mid-answer: the answer is written again, and complete', async () => {
    const env = { DATABASE_URL: database.url, LOG_LEVEL: 'fatal' }
    const first = spawnMain([], env)
    const url = await first.ready()
    const talk = talkTo(createGraphQLClient(url))
    const agent = await talk.createAgent({ model: 'demo/scripted' })
    const words = Array.from({ length: 60 }, (_, index) => `word${index}`).join(' ')
    const run = await talk.start(agent, `slow 15\nsay ${words}`)

    const watch = createWatch()
    const clients = [openSocketClient(url), openEventClient(url)]
    const followers = clients.map(({ client }) => followRun(client, run, { onChange: watch.look }))
    const every = (holds: (transcript: Transcript) => boolean): Promise<void> =>
      watch.until(() => followers.every(({ transcript }) => holds(transcript)))
    await every((transcript) => (textOf(transcript).at(-1) ?? '').includes('word3'))
    first.child.kill('SIGKILL')
    await first.ended

    const second = spawnMain([], { ...env, PORT: new URL(url).port })
    await second.ready()
    await every(({ state }) => state.latestRun?.status === 'COMPLETED')
    for (const [index, { transcript, stop }] of followers.entries()) {
      expect(textOf(transcript)).toEqual([`slow 15\nsay ${words}`, words])
      expect(clients[index]!.client.connection.status).toBe('CONNECTED')
      stop()
      await clients[index]!.close()
    }
    second.child.kill('SIGTERM')
    await second.ended
  })
})

test('[LIB12] a request that the server refuses rejects with its code and field, and a bad key ends a subscription', async () => {
  const server = await startTestApp({ env: { HOLDPOINT_API_KEY: 'hp_secret' } })
  const denied = createClient({ url: server.url })
  await expect(denied.request(RunSnapshot, { id: 'run_0' })).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  for (const open of [openSocketClient, openEventClient]) {
    const opened = open(server.url, 'hp_wrong')
    const refused = Promise.withResolvers<Error>()
    followInbox(opened.client, { onError: refused.resolve })
    expect(await refused.promise).toMatchObject({ code: 'UNAUTHENTICATED' })
    await opened.close()
  }
  let key = 'hp_wrong'
  const client = createClient({ url: server.url, key: () => key })
  await expect(client.request(RunSnapshot, { id: 'run_0' })).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  key = 'hp_secret'
  await expect(client.request(RunSnapshot, { id: 'run_0' })).resolves.toEqual({ run: null })
  const input = { to: { agentId: 'agent_0' }, messages: [] }
  await expect(client.request(SendMessage, { input })).rejects.toMatchObject({
    code: 'BAD_USER_INPUT',
    field: 'input.messages',
  })
  await server.stop()
})

test('[CON88] a subscription that is ended by its first event says nothing more, also if the next one has arrived', async () => {
  const event = 'event: next\ndata: {"data":{"approvalInbox":{"__typename":"InboxSnapshot"}}}\n\n'
  const body = new Blob([event, event, 'event: complete\n\n'])
  const client = createClient({
    url: 'http://localhost/graphql',
    fetch: async () => new Response(body.stream(), { headers: { 'content-type': 'text/event-stream' } }),
  })
  const said: string[] = []
  await new Promise<void>((done) => {
    const end = client.subscribe(
      Inbox,
      { needs: [] },
      {
        next() {
          said.push('next')
          end()
          // Whatever was there already is read before this.
          setImmediate(() => setImmediate(done))
        },
        error: () => said.push('error'),
        complete: () => said.push('complete'),
      },
    )
  })
  expect(said).toEqual(['next'])
})
