import { afterAll, expect, test } from 'vitest'

import { encodeCursor } from '../../src/domain/cursor.ts'
import { encodeId } from '../../src/domain/ids.ts'
import type { LogEntry } from '../../src/domain/runs/run-event.ts'
import { createGround } from '../support/execute.ts'
import { createFixtures } from '../support/fixtures.ts'
import { createExecutor, type Executor } from '../support/run-executor.ts'

const ground = await createGround()
const make = createFixtures(ground.db)
afterAll(() => ground.close())

const fragment = `__typename cursor runId at ... on RunEntry { seq }
  ... on RunStatusChanged { status stopReason run { id } } ... on StepStarted { stepId } ... on StepFinished { step { id } }
  ... on MessageAdded { message { id } }`
const listed = `query ($id: ID!, $first: Int, $after: EventCursor, $types: [EventType!]) { run(id: $id) {
  events(first: $first, after: $after, types: $types) {
    nodes { ${fragment} } edges { cursor node { cursor } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`
const streamed = `subscription ($id: ID!, $after: EventCursor, $types: [EventType!]) {
  runEvents(runId: $id, after: $after, types: $types) { ${fragment} } }`

const usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0, costUsd: null, steps: 0 }
const status = (name: 'QUEUED' | 'RUNNING' | 'COMPLETED'): LogEntry => ({
  type: 'status',
  status: name,
  stopReason: name === 'COMPLETED' ? 'END_TURN' : null,
  error: null,
  usage,
})

let tenants = 0
/** A run of 25 checkpoints with two entries each. */
async function longRun() {
  const tenantId = await make.tenant(`event pages ${(tenants += 1)}`)
  const agent = await make.agent({ tenant_id: tenantId })
  const conversation = await make.conversation({ tenant_id: tenantId, agent_id: agent.id, is_main: true })
  const run = await make.run(conversation, {
    status: 'COMPLETED',
    stop_reason: 'END_TURN',
    hold: 1,
    previous_hold: 0,
    next_seq: 51,
  })
  const message = await make.message(run, 'USER', { content: [{ text: 'hi' }] })
  await make.log(run, 1, [status('QUEUED'), { type: 'message', id: message.id }])
  for (let index = 0; index < 23; index++) {
    await make.step(run, { index })
    await make.log(run, 3 + 2 * index, [
      { type: 'stepStarted', index },
      { type: 'stepFinished', index },
    ])
  }
  await make.log(run, 49, [status('RUNNING'), status('COMPLETED')])
  return { api: createExecutor(ground, tenantId), id: encodeId('Run', run.id), run, conversation }
}

async function page(api: Executor, variables: Record<string, unknown>) {
  return (await api.data(listed, variables)).run.events
}

async function stream(api: Executor, variables: Record<string, unknown>): Promise<any[]> {
  const events = []
  for await (const { data } of (await api.subscribe(streamed, variables)) as AsyncGenerator<any>) {
    events.push(data.runEvents)
  }
  return events
}

test('[EVT6] `Run.events` has the events and cursors of `runEvents`, in pages of any size', async () => {
  const { api, id } = await longRun()
  const all = await stream(api, { id })
  expect(all).toHaveLength(50)
  for (const first of [1, 7, 50, 200]) {
    const nodes: any[] = []
    for (let after: string | null = null; ;) {
      const read: any = await page(api, { id, first, after })
      expect(read.edges.map((edge: any) => [edge.cursor, edge.node.cursor])).toEqual(
        read.nodes.map((node: any) => [node.cursor, node.cursor]),
      )
      expect(read.pageInfo).toEqual({
        hasNextPage: nodes.length + read.nodes.length < 50,
        hasPreviousPage: after !== null,
        startCursor: read.nodes[0].cursor,
        endCursor: read.nodes.at(-1).cursor,
      })
      nodes.push(...read.nodes)
      after = read.pageInfo.endCursor
      if (!read.pageInfo.hasNextPage) break
    }
    expect(nodes).toEqual(all)
  }
  expect((await page(api, { id })).nodes).toEqual(all)
  expect(await stream(api, { id, after: all[40].cursor })).toEqual(all.slice(41))
  expect((await page(api, { id, after: all[40].cursor })).nodes).toEqual(all.slice(41))
  for (const first of [-1, 201])
    expect(await api.error(listed, { id, first })).toMatchObject({ code: 'BAD_USER_INPUT' })
})

test('[EVT7] `Run.events` is filtered by type, and reads as far as a page needs', async () => {
  const { api, id } = await longRun()
  const all = await stream(api, { id })
  const types = ['RUN_STATUS_CHANGED', 'MESSAGE_ADDED']
  const wanted = all.filter(({ __typename }) => ['RunStatusChanged', 'MessageAdded'].includes(__typename))
  expect(wanted).toHaveLength(4)
  const first = await page(api, { id, types, first: 3 })
  expect([first.nodes, first.pageInfo.hasNextPage]).toEqual([wanted.slice(0, 3), true])
  const second = await page(api, { id, types, first: 3, after: first.pageInfo.endCursor })
  expect([second.nodes, second.pageInfo.hasNextPage]).toEqual([wanted.slice(3), false])

  const empty = { nodes: [], edges: [] }
  for (const none of [[], ['TEXT_DELTA', 'TOOL_CALL_DELTA', 'QUEUE_CHANGED', 'BRANCH_CHANGED'], ['STEP_RESTARTED']]) {
    const after = all[3].cursor
    expect(await page(api, { id, types: none, after })).toEqual({
      ...empty,
      pageInfo: { hasNextPage: false, hasPreviousPage: true, startCursor: null, endCursor: after },
    })
    expect((await page(api, { id, types: none })).pageInfo.endCursor).toBe(null)
  }
  expect((await page(api, { id, first: 0 })).nodes).toEqual([])
})

test('[EVT8] a cursor inside a message goes on with the next stored event; a cursor of another stream is BAD_CURSOR', async () => {
  const { api, id, run, conversation } = await longRun()
  const other = await longRun()
  const at = { runId: run.id, seq: 3, item: 2, offset: 5 }
  const [next] = (await page(api, { id, first: 1, after: encodeCursor(run.conversation_id, at) })).nodes
  expect(next.seq).toBe(4)

  const conversationId = encodeId('Conversation', conversation.id)
  const ofConversation = await api.data('query ($id: ID!) { conversation(id: $id) { lastCursor } }', {
    id: conversationId,
  })
  const start = encodeCursor(conversation.id, { ...at, seq: 1, item: 0, offset: 0 })
  const document = `subscription ($id: ID!, $after: EventCursor!) { conversationEvents(conversationId: $id, after: $after) {
    cursor } }`
  const events = (await api.subscribe(document, { id: conversationId, after: start })) as AsyncGenerator<any>
  const { value } = await events.next()
  await events.return(undefined)
  for (const after of [ofConversation.conversation.lastCursor, value.data.conversationEvents.cursor, 'x'])
    expect(await api.error(listed, { id, after }), after).toMatchObject({ code: 'BAD_CURSOR' })
  expect(await other.api.error(listed, { id: other.id, after: start })).toMatchObject({ code: 'BAD_CURSOR' })
})

test('[EVT8] events after the cursor that retention has deleted are BAD_CURSOR, as in the stream', async () => {
  const { api, id, run } = await longRun()
  const [first] = (await page(api, { id, first: 1 })).nodes
  await ground.pool.query('delete from run_log where run_id = $1 and first_seq between 2 and 20', [run.id])
  await ground.pool.query('delete from run_log where run_id = $1 and first_seq = 1', [run.id])
  expect(await api.error(listed, { id, after: first.cursor })).toMatchObject({ code: 'BAD_CURSOR' })
  expect((await page(api, { id, first: 2 })).nodes.map((event: any) => event.seq)).toEqual([1, 21])
})
