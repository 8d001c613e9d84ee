import { afterAll, expect, test } from 'vitest'

import { decodeId } from '../../src/domain/ids.ts'
import { defineTool } from '../../src/tools/registry.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { createTestDatabase } from '../support/database.ts'
import { createGatedModel } from '../support/gated-model.ts'
import { talkTo } from '../support/talk.ts'

const model = createGatedModel()
const pay = defineTool({ name: 'pay', description: 'Pays.', parameters: { type: 'object' }, run: () => 'paid' })

const database = await createTestDatabase()
const options = { database, providers: [model.provider], tools: [pay] }
const api = await startTestApp({ ...options, env: { HOLDPOINT_WORKERS: '0' } })
const worker = await startTestApp(options)
const talk = talkTo(api)
afterAll(async () => {
  model.assertAllTaken()
  await worker.stop()
  await api.stop()
  await database.close()
})

const newAgent = () => talk.createAgent({ tools: [{ name: 'pay', approvalOverride: true }] })

/** A run that waits for `count` approvals. */
async function pausedRun(agent: string, count = 1): Promise<{ readonly run: string; readonly calls: string[] }> {
  const run = await talk.start(agent, 'pay')
  const call = await model.nextCall()
  for (let index = 0; index < count; index += 1) call.call('pay', {})
  call.finish()
  return { run, calls: (await talk.pending(run)).map(({ id }) => id) }
}

/** An inbox as a client builds it from the events. */
function openInbox(app: TestApp, variables: Record<string, unknown> = {}) {
  const socket = app.webSocket()
  const stream = socket.stream(
    `subscription ($agentIds: [ID!], $needs: [ToolCallNeed!]! = [APPROVAL]) {
      approvalInbox(agentIds: $agentIds, needs: $needs) { __typename
        ... on InboxSnapshot { toolCalls { id status } totalCount }
        ... on InboxAdded { toolCall { id status } } ... on InboxRemoved { toolCall { id status } } } }`,
    variables,
  )
  let waiting: string[] = []
  const types: string[] = []
  return {
    types,
    async until(ids: readonly string[]): Promise<void> {
      while (types.length === 0 || waiting.toSorted().join() !== ids.toSorted().join()) {
        const { data } = (await stream.next())!
        const event = data.approvalInbox
        types.push(event.__typename)
        const id = event.toolCall?.id
        if (event.__typename === 'InboxSnapshot') waiting = event.toolCalls.map((call: any) => call.id)
        else if (event.__typename === 'InboxAdded') waiting.push(id)
        else waiting = waiting.filter((other) => other !== id)
      }
    },
    async close() {
      await stream.close()
      await socket.dispose()
    },
  }
}

test('[INB1] a snapshot of the calls that wait comes first, even if there are none, then each change, whichever process made it', async () => {
  const agent = await newAgent()
  const other = await newAgent()
  const inboxes = [api, worker].map((app) => openInbox(app, { agentIds: [agent] }))
  const everything = openInbox(api)
  for (const inbox of inboxes) await inbox.until([])
  const first = await pausedRun(agent, 2)
  const foreign = await pausedRun(other)
  for (const inbox of inboxes) await inbox.until(first.calls)
  await everything.until([...first.calls, ...foreign.calls])
  await talk.submit(first.run, [{ deny: { toolCallId: first.calls[0]!, reason: 'no' } }])
  for (const inbox of inboxes) await inbox.until([first.calls[1]!])

  const late = openInbox(worker, { agentIds: [agent] })
  await late.until([first.calls[1]!])
  expect(late.types).toEqual(['InboxSnapshot'])
  await talk.cancel({ runId: first.run })
  for (const inbox of [...inboxes, late]) await inbox.until([])
  await talk.cancel({ runId: foreign.run })
  await everything.until([])
  expect(inboxes[0]!.types).toEqual(['InboxSnapshot', 'InboxAdded', 'InboxAdded', 'InboxRemoved', 'InboxRemoved'])
  for (const inbox of [...inboxes, late, everything]) await inbox.close()
})

test('[INB2] calls with other needs are not listed, and a new snapshot shows that deleted calls are gone', async () => {
  const agent = await newAgent()
  const inbox = openInbox(api, { agentIds: [agent] })
  const client = openInbox(api, { agentIds: [agent], needs: ['CLIENT_EXECUTION'] })
  await client.until([])
  const { calls } = await pausedRun(agent)
  await inbox.until(calls)
  await api.data('mutation ($id: ID!) { deleteAgent(input: { id: $id }) { __typename } }', { id: agent })
  await inbox.until([])
  expect(inbox.types.at(-1)).toBe('InboxSnapshot')
  expect(client.types).toEqual(['InboxSnapshot'])
  await inbox.close()
  await client.close()
})

/** A list of runs and their statuses, as a client builds it from the events. */
function openChanges(app: TestApp, variables: Record<string, unknown>) {
  const socket = app.webSocket()
  const stream = socket.stream(
    `subscription ($since: DateTime!, $agentIds: [ID!], $conversationId: ID) {
      runChanges(since: $since, agentIds: $agentIds, conversationId: $conversationId) { id status } }`,
    variables,
  )
  const statuses = new Map<string, string>()
  const seen: string[] = []
  return {
    statuses,
    seen,
    async until(run: string, status: string): Promise<void> {
      while (statuses.get(run) !== status) {
        const { data } = (await stream.next())!
        statuses.set(data.runChanges.id, data.runChanges.status)
        seen.push(data.runChanges.status)
      }
    },
    async close() {
      await stream.close()
      await socket.dispose()
    },
  }
}

test('[CHG1] the runs that changed since then are sent in their current state, then each run when it changes, in any process', async () => {
  const agent = await newAgent()
  const before = await talk.start(agent, 'before')
  ;(await model.nextCall()).finish()
  await talk.settled(before)
  // It ended an hour ago, so that a clock that is slightly off makes no difference.
  const { uuid } = decodeId(before) as { uuid: string }
  await database.pool.query(`update runs set finished_at = finished_at - interval '1 hour' where id = $1`, [uuid])
  const since = new Date(Date.now() - 30 * 60_000).toISOString()
  const paused = await pausedRun(agent)
  const lists = [api, worker].map((app) => openChanges(app, { since, agentIds: [agent] }))
  for (const list of lists) await list.until(paused.run, 'AWAITING_APPROVAL')
  const waiting = (await talk.send(agent, 'behind', { whenBusy: 'ENQUEUE' })).run?.id
  for (const list of lists) await list.until(waiting, 'QUEUED')
  await talk.cancel({ runId: paused.run })
  const call = await model.nextCall()
  for (const list of lists) {
    await list.until(paused.run, 'CANCELLED')
    await list.until(waiting, 'RUNNING')
  }
  call.finish()
  for (const list of lists) {
    await list.until(waiting, 'COMPLETED')
    expect(list.statuses.has(before)).toBe(false)
    await list.close()
  }
})

test('[CHG2] with a conversation given, only its runs are sent', async () => {
  const agent = await newAgent()
  const { createConversation } = await api.data(
    'mutation ($agent: ID!) { createConversation(input: { agentId: $agent }) { conversation { id } } }',
    { agent },
  )
  const conversationId = createConversation.conversation.id
  const list = openChanges(api, { since: new Date().toISOString(), conversationId })
  const other = await talk.start(agent, 'elsewhere')
  ;(await model.nextCall()).finish()
  await talk.settled(other)
  const here = await talk.start(conversationId, 'here')
  ;(await model.nextCall()).finish()
  await list.until(here, 'COMPLETED')
  expect([...list.statuses.keys()]).toEqual([here])
  await list.close()
})

test.each([
  'approvalInbox(agentIds: [$id])',
  'runChanges(since: "2026-01-01T00:00:00Z", agentIds: [$id])',
  'runChanges(since: "2026-01-01T00:00:00Z", conversationId: $id)',
])('[CHG3] an id that names nothing is NOT_FOUND: %s', async (field) => {
  const kind = field.includes('conversationId') ? 'conv' : 'agent'
  for (const id of [`${kind}_x`, `${kind}_${'0'.repeat(32)}`]) {
    const stream = await api.events(`subscription ($id: ID!) { ${field} { __typename } }`, { id })
    expect((await stream.next())!.errors![0]!.extensions).toEqual({ code: 'NOT_FOUND', id })
    stream.close()
  }
})

test.each(['approvalInbox(agentIds: $ids)', 'runChanges(since: "2026-01-01T00:00:00Z", agentIds: $ids)'])(
  '[CHG3] a malformed id, after one that names nothing, leaves no promise unhandled: %s',
  async (field) => {
    const unhandled: unknown[] = []
    const note = (reason: unknown) => unhandled.push(reason)
    process.on('unhandledRejection', note)
    const ids = ['agent_00000000000070008000000000000000', 'x']
    const stream = await api.events(`subscription ($ids: [ID!]) { ${field} { __typename } }`, { ids })
    expect((await stream.next())!.errors![0]!.extensions).toEqual({ code: 'NOT_FOUND', id: 'x' })
    stream.close()
    // By the time a later statement has its result, the load that would be orphaned has failed.
    await api.data('{ agents { totalCount } }')
    process.off('unhandledRejection', note)
    expect(unhandled).toEqual([])
  },
)
