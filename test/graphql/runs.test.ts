import { graphql } from 'graphql'
import { Kysely, PostgresDialect, type PostgresPool } from 'kysely'
import { afterAll, describe, expect, it } from 'vitest'

import { encodeCursor } from '../../src/domain/cursor.ts'
import { encodeId } from '../../src/domain/ids.ts'
import { noUsage, sumOfUsage } from '../../src/domain/models/usage.ts'
import { createLoaders } from '../../src/graphql/loaders.ts'
import { schema } from '../../src/graphql/schema.ts'
import type { Database } from '../../src/store/database/schema.ts'
import { createGround } from '../support/execute.ts'
import { createFixtures } from '../support/fixtures.ts'
import { createExecutor } from '../support/run-executor.ts'

const ground = await createGround()
const make = createFixtures(ground.db)
afterAll(() => ground.close())

let tenants = 0
/** The test's own tenant, with an agent and an empty conversation. */
async function createTenant() {
  const tenantId = await make.tenant(`runs ${(tenants += 1)}`)
  const agent = await make.agent({ tenant_id: tenantId })
  const conversation = await make.conversation({ tenant_id: tenantId, agent_id: agent.id, is_main: true })
  return { tenantId, agent, conversation, api: createExecutor(ground, tenantId) }
}

async function setActive(conversation: { readonly id: string }, run: { readonly id: string }): Promise<void> {
  await ground.db
    .updateTable('conversations')
    .set({ active_run_id: run.id })
    .where('id', '=', conversation.id)
    .execute()
}

function shownRun(run: { readonly id: string }): string {
  return encodeId('Run', run.id)
}

const say = (text: string) => ({ content: [{ text }] })

describe('one run', () => {
  it('[RUN1] an id that is unknown, malformed or another tenant’s gives null', async () => {
    const mine = await createTenant()
    const other = await createTenant()
    const theirs = shownRun(await make.run(other.conversation))
    const ids = [
      theirs,
      shownRun({ id: '01890000-0000-7000-8000-000000000000' }),
      'run_x',
      encodeId('Agent', mine.agent.id),
    ]
    for (const id of ids) {
      const data = await mine.api.data('query ($id: ID!) { run(id: $id) { id } }', { id })
      expect(data.run).toBeNull()
    }
    const { node, nodes } = await mine.api.data(`{ node(id: "${theirs}") { id } nodes(ids: ["${theirs}"]) { id } }`)
    expect([node, nodes]).toEqual([null, [null]])
    expect((await other.api.data(`{ run(id: "${theirs}") { id } }`)).run.id).toBe(theirs)
  })

  it('[RUN2] shows what is stored, with its messages, steps, usage and answer', async () => {
    const { api, conversation, agent } = await createTenant()
    const before = await make.run(conversation, { status: 'COMPLETED' })
    await make.message(before, 'USER', say('earlier'))
    const run = await make.run(conversation, {
      status: 'COMPLETED',
      stop_reason: 'END_TURN',
      request: JSON.stringify({
        messages: [
          { role: 'USER', content: [{ text: 'look' }, { imageUrl: 'https://example.com/a.png' }], clientId: 'c1' },
        ],
        clientTools: [],
      }),
      metadata: '{"snake_key":1}',
      next_seq: 9,
      attempts: 2,
      steps: 2,
      input_tokens: 100,
      output_tokens: 20,
      cached_input_tokens: 30,
      reasoning_tokens: 5,
    })
    const created = new Date('2026-01-01T00:00:00.000Z')
    const finished = new Date('2026-01-01T00:00:02.500Z')
    await make.step(run, { index: 0, created_at: created, finished_at: finished, model_ms: 1500, input_tokens: 60 })
    await make.step(run, { index: 1, status: 'RUNNING' })
    await make.message(run, 'USER', say('look'))
    await make.message(run, 'ASSISTANT', { text: 'first', interrupted: false, provider: null }, { step_index: 0 })
    await make.message(run, 'ASSISTANT', { text: 'last', interrupted: false, provider: null }, { step_index: 1 })
    const after = await make.run(conversation, { status: 'RUNNING' })
    await make.message(after, 'ASSISTANT', { text: 'later', interrupted: false, provider: null })

    const data = await api.data(
      `query ($id: ID!) { run(id: $id) {
        agent { id } conversation { id } status stopReason error { type } maxSteps attempts metadata answer canRetry lastCursor
        usage { steps inputTokens outputTokens totalTokens cachedInputTokens reasoningTokens }
        input { role text clientId content { text imageUrl } }
        messages { nodes { position } } lastOne: messages(last: 1) { nodes { position } pageInfo { hasPreviousPage } }
        assistant: messages(filter: { types: [ASSISTANT] }) { nodes { ... on AssistantMessage { text } } }
        steps { id index status run { id } metrics { modelMs toolsMs totalMs } usage { steps totalTokens } messages { position } }
        pendingToolCalls { id } parent { id } children { id }
      } }`,
      { id: shownRun(run) },
    )
    expect(data.run).toEqual({
      agent: { id: encodeId('Agent', agent.id) },
      conversation: { id: encodeId('Conversation', conversation.id) },
      status: 'COMPLETED',
      stopReason: 'END_TURN',
      error: null,
      maxSteps: 50,
      attempts: 2,
      metadata: { snake_key: 1 },
      answer: 'last',
      canRetry: false,
      lastCursor: cursor(run, 8),
      usage: {
        steps: 2,
        inputTokens: 100,
        outputTokens: 20,
        totalTokens: 120,
        cachedInputTokens: 30,
        reasoningTokens: 5,
      },
      input: [
        {
          role: 'USER',
          text: 'look',
          clientId: 'c1',
          content: [
            { text: 'look', imageUrl: null },
            { text: null, imageUrl: 'https://example.com/a.png' },
          ],
        },
      ],
      messages: { nodes: [{ position: 2 }, { position: 3 }, { position: 4 }] },
      lastOne: { nodes: [{ position: 4 }], pageInfo: { hasPreviousPage: true } },
      assistant: { nodes: [{ text: 'first' }, { text: 'last' }] },
      steps: [
        {
          id: `step_${run.id.replaceAll('-', '')}_0`,
          index: 0,
          status: 'COMPLETED',
          run: { id: shownRun(run) },
          metrics: { modelMs: 1500, toolsMs: null, totalMs: 2500 },
          usage: { steps: 1, totalTokens: 60 },
          messages: [{ position: 3 }],
        },
        {
          id: `step_${run.id.replaceAll('-', '')}_1`,
          index: 1,
          status: 'RUNNING',
          run: { id: shownRun(run) },
          metrics: { modelMs: null, toolsMs: null, totalMs: null },
          usage: { steps: 1, totalTokens: 0 },
          messages: [{ position: 4 }],
        },
      ],
      pendingToolCalls: [],
      parent: null,
      children: [],
    })
  })

  it('[RUN3] a run that never started has its input and no messages', async () => {
    const { api, conversation } = await createTenant()
    const request = { messages: [{ role: 'USER', content: [{ text: 'hi' }], clientId: null }], clientTools: [] }
    const run = await make.run(conversation, { status: 'QUEUED', request: JSON.stringify(request) })
    const data = await api.data(`{ run(id: "${shownRun(run)}") {
      status stopReason answer steps { id } input { text } messages { nodes { id } pageInfo { startCursor endCursor } } } }`)
    expect(data.run).toEqual({
      status: 'QUEUED',
      stopReason: null,
      answer: null,
      steps: [],
      input: [{ text: 'hi' }],
      messages: { nodes: [], pageInfo: { startCursor: null, endCursor: null } },
    })
  })

  it('[RUN4] only the conversation’s latest run can be retried, only if it failed and nothing was compacted since', async () => {
    const { api, conversation } = await createTenant()
    const canRetry = async (run: { id: string }) =>
      (await api.data(`{ run(id: "${shownRun(run)}") { canRetry } }`)).run.canRetry

    const first = await make.run(conversation, { status: 'FAILED', stop_reason: 'LLM_API_ERROR' })
    await make.message(first, 'USER', say('hi'))
    expect(await canRetry(first)).toBe(true)

    await ground.db
      .updateTable('conversations')
      .set({ summary_position: 2 })
      .where('id', '=', conversation.id)
      .execute()
    expect(await canRetry(first)).toBe(false)
    await ground.db
      .updateTable('conversations')
      .set({ summary_position: 1 })
      .where('id', '=', conversation.id)
      .execute()
    expect(await canRetry(first)).toBe(true)

    const second = await make.run(conversation, { status: 'COMPLETED' })
    expect([await canRetry(first), await canRetry(second)]).toEqual([false, false])
  })

  it('[RUN5] background runs are the children of the turn that started them', async () => {
    const { api, conversation, tenantId, agent } = await createTenant()
    const background = await make.conversation({ tenant_id: tenantId, agent_id: agent.id })
    const turn = await make.run(conversation)
    const child = await make.run(background, { kind: 'SLEEPTIME', parent_id: turn.id })
    const data = await api.data(`{ turn: run(id: "${shownRun(turn)}") { children { id } parent { id } }
      child: run(id: "${shownRun(child)}") { children { id } parent { id } } }`)
    expect(data).toEqual({
      turn: { children: [{ id: shownRun(child) }], parent: null },
      child: { children: [], parent: { id: shownRun(turn) } },
    })
  })
})

describe('waiting for a run', () => {
  const query =
    'query ($id: ID!, $after: EventCursor, $waitMs: Int!) { run(id: $id, after: $after, waitMs: $waitMs) { status } }'

  it('[RUN6] with waitMs it answers once the run pauses or ends, with what is stored then', async () => {
    const { api, conversation } = await createTenant()
    const run = await make.run(conversation, { status: 'RUNNING', next_seq: 3 })
    const answer = api.data(query, { id: shownRun(run), after: cursor(run, 2), waitMs: 60_000 })
    await untilListened(run.id)
    const change = { status: 'COMPLETED' as const, finished_at: new Date(), next_seq: 4 }
    await ground.db.updateTable('runs').set(change).where('id', '=', run.id).execute()
    ground.context.hub.runChanged(run.id)
    expect(await answer).toEqual({ run: { status: 'COMPLETED' } })
    expect(ground.context.hub.runsWithReaders()).toEqual([])
  })

  it('[RUN7] a negative wait, and a cursor that is not from the run, are refused', async () => {
    const { api, conversation } = await createTenant()
    const run = await make.run(conversation, { next_seq: 3 })
    const other = await make.run(conversation, { next_seq: 3 })
    const id = shownRun(run)
    expect(await api.error(query, { id, waitMs: -1 })).toMatchObject({ code: 'BAD_USER_INPUT', field: 'waitMs' })
    for (const after of ['nonsense', '', cursor(other, 1), cursor(run, 3)]) {
      expect(await api.error(query, { id, after, waitMs: 0 })).toMatchObject({ code: 'BAD_CURSOR' })
    }
    expect(await api.data(query, { id, after: cursor(run, 2), waitMs: 0 })).toEqual({ run: { status: 'RUNNING' } })
  })
})

function cursor(run: { readonly id: string; readonly conversation_id: string }, seq: number): string {
  return encodeCursor(run.conversation_id, { runId: run.id, seq, item: 0, offset: 0 })
}

async function untilListened(runId: string): Promise<void> {
  while (!ground.context.hub.runsWithReaders().includes(runId)) await new Promise((resolve) => setImmediate(resolve))
}

describe('lists of runs', () => {
  it('[RUN8] the list is newest first, pages both ways, counts and filters by status as it is shown', async () => {
    const { api, conversation } = await createTenant()
    const statuses = {
      queued: await make.run(conversation, { status: 'QUEUED' }),
      running: await make.run(conversation, { status: 'RUNNING' }),
      cancelling: await make.run(conversation, { status: 'RUNNING', cancel_requested_at: new Date() }),
      failed: await make.run(conversation, { status: 'FAILED', stop_reason: 'ERROR' }),
    }
    const { queued, running, cancelling, failed } = Object.fromEntries(
      Object.entries(statuses).map(([name, run]) => [name, shownRun(run)]),
    )
    const list = async (filter: object, page: object = {}) => {
      const { runs } = await api.data(
        `query ($first: Int, $after: String, $last: Int, $before: String, $filter: RunFilter) {
          runs(first: $first, after: $after, last: $last, before: $before, filter: $filter) {
            totalCount nodes { id } pageInfo { endCursor startCursor hasNextPage hasPreviousPage } } }`,
        { ...page, filter },
      )
      return { ...runs, ids: runs.nodes.map((node: { id: string }) => node.id) }
    }
    expect(await list({})).toMatchObject({ ids: [failed, cancelling, running, queued], totalCount: 4 })

    const first = await list({}, { first: 3 })
    expect(first).toMatchObject({ ids: [failed, cancelling, running], totalCount: 4, pageInfo: { hasNextPage: true } })
    const second = await list({}, { first: 3, after: first.pageInfo.endCursor })
    expect(second).toMatchObject({ ids: [queued], pageInfo: { hasNextPage: false } })
    const back = await list({}, { last: 2, before: second.pageInfo.startCursor })
    expect(back).toMatchObject({ ids: [cancelling, running], pageInfo: { hasPreviousPage: true } })

    expect(await list({ statuses: ['RUNNING'] })).toMatchObject({ ids: [running], totalCount: 1 })
    expect(await list({ statuses: ['CANCELLING'] })).toMatchObject({ ids: [cancelling], totalCount: 1 })
    expect(await list({ statuses: ['CANCELLING', 'RUNNING', 'QUEUED'] })).toMatchObject({
      ids: [cancelling, running, queued],
    })
    expect(await list({ statuses: [] })).toMatchObject({ ids: [], totalCount: 0 })
    expect(await list({ stopReasons: ['ERROR'] })).toMatchObject({ ids: [failed], totalCount: 1 })
  })

  it('[RUN9] filters by agent, conversation, time and kind, alone and on an agent’s or conversation’s own list', async () => {
    const { api, tenantId, agent, conversation } = await createTenant()
    const agent2 = await make.agent({ tenant_id: tenantId })
    const conversation2 = await make.conversation({ tenant_id: tenantId, agent_id: agent2.id })
    const old = await make.run(conversation, { status: 'QUEUED', created_at: new Date('2026-01-01T00:00:00Z') })
    const recent = await make.run(conversation, { status: 'QUEUED', created_at: new Date('2026-01-02T00:00:00Z') })
    const background = await make.run(conversation2, { kind: 'SLEEPTIME' })
    const ids = (page: { nodes: { id: string }[] }) => page.nodes.map((node) => node.id)
    const list = async (filter: object) =>
      ids((await api.data('query ($filter: RunFilter) { runs(filter: $filter) { nodes { id } } }', { filter })).runs)

    expect(await list({ agentIds: [encodeId('Agent', agent2.id)] })).toEqual([shownRun(background)])
    expect(await list({ conversationId: encodeId('Conversation', conversation.id) })).toEqual(
      [recent, old].map(shownRun),
    )
    expect(await list({ background: true })).toEqual([shownRun(background)])
    expect(await list({ background: false })).toEqual([recent, old].map(shownRun))
    const noon = '2026-01-01T12:00:00Z'
    expect(await list({ createdBefore: noon })).toEqual([shownRun(old)])
    expect(await list({ createdAfter: noon, background: false })).toEqual([shownRun(recent)])

    const data = await api.data(
      `query ($agent: ID!, $conversation: ID!, $other: ID!) {
        agent(id: $agent) { runs { totalCount nodes { id } } none: runs(filter: { agentIds: [$other] }) { totalCount } }
        conversation(id: $conversation) { runs(filter: { statuses: [QUEUED] }, first: 1) { totalCount nodes { id } } }
      }`,
      {
        agent: encodeId('Agent', agent.id),
        conversation: encodeId('Conversation', conversation.id),
        other: encodeId('Agent', agent2.id),
      },
    )
    expect(data.agent).toEqual({
      runs: { totalCount: 2, nodes: [recent, old].map((run) => ({ id: shownRun(run) })) },
      none: { totalCount: 0 },
    })
    expect(data.conversation.runs).toEqual({ totalCount: 2, nodes: [{ id: shownRun(recent) }] })

    const bad = 'query ($filter: RunFilter) { runs(filter: $filter) { totalCount } }'
    for (const filter of [{ agentIds: ['agent_x'] }, { conversationId: 'conv_x' }]) {
      expect(await api.data(bad, { filter })).toEqual({ runs: { totalCount: 0 } })
    }
    expect(await api.error(bad, { filter: { agentIds: [encodeId('Conversation', conversation.id)] } })).toMatchObject({
      code: 'BAD_USER_INPUT',
      field: 'filter.agentIds.0',
    })
    expect(await api.error(bad, { filter: { conversationId: 'x' } })).toMatchObject({
      code: 'BAD_USER_INPUT',
      field: 'filter.conversationId',
    })
  })

  it('[RUN17] filters by metadata, sender, model and what a run waits for', async () => {
    const { api, agent, conversation } = await createTenant()
    const other = await createTenant()
    await make.run(other.conversation, { sent_by: JSON.stringify({ kind: 'PERSON', id: 'ann', name: 'Ann' }) })
    const actor = (kind: string, id: string) => JSON.stringify({ kind, id, name: id })
    const ended = await make.run(conversation, {
      status: 'COMPLETED',
      sent_by: actor('PERSON', 'ann'),
      metadata: '{"customer":{"id":7},"tags":["a","b"]}',
    })
    const active = await make.run(conversation, { sent_by: actor('KEY', 'ann'), metadata: '{"customer":{"id":8}}' })
    const approval = await make.run(conversation, { status: 'AWAITING_APPROVAL', sent_by: actor('KEY', 'bob') })
    const client = await make.run(conversation, { status: 'AWAITING_APPROVAL' })
    const both = await make.run(conversation, { status: 'AWAITING_APPROVAL' })
    for (const [run, needs] of [
      [approval, 'APPROVAL'],
      [client, 'CLIENT_EXECUTION'],
      [both, 'APPROVAL'],
      [both, 'CLIENT_EXECUTION'],
    ] as const) {
      await make.call(run, { step_index: 0, ordinal: needs === 'APPROVAL' ? 0 : 1, status: 'PENDING', needs })
    }
    // Decided calls count no more.
    await make.call(client, { step_index: 0, ordinal: 2, status: 'SUCCEEDED', needs: 'APPROVAL' })
    await make.step(ended, { index: 0, model: 'openai/a' })
    await make.step(ended, { index: 1, model: 'openai/b' })
    await make.step(active, { index: 0, model: 'openai/b' })
    const list = async (filter: object) => {
      const { runs } = await api.data(
        'query ($filter: RunFilter) { runs(filter: $filter) { totalCount nodes { id } } }',
        { filter },
      )
      expect(runs.totalCount).toBe(runs.nodes.length)
      return runs.nodes.map(({ id }: { id: string }) => id)
    }
    const shown = (...runs: readonly { readonly id: string }[]) => runs.map(shownRun)

    expect(await list({ metadataContains: { customer: { id: 7 }, tags: ['b'] } })).toEqual(shown(ended))
    expect(await list({ metadataContains: { customer: {} } })).toEqual(shown(active, ended))
    expect(await list({ metadataContains: {} })).toHaveLength(5)
    expect(await list({ metadataContains: null, sentBy: null, models: null, waitingFor: null })).toHaveLength(5)

    expect(await list({ sentBy: 'ann' })).toEqual(shown(active, ended))
    expect(await list({ sentBy: 'ann', statuses: ['COMPLETED'] })).toEqual(shown(ended))
    expect(await list({ sentBy: 'ann', agentIds: [encodeId('Agent', agent.id)] })).toEqual(shown(active, ended))
    expect(await list({ sentBy: 'nobody' })).toEqual([])
    expect(await list({ sentBy: '\u0000' })).toEqual([])

    expect(await list({ models: ['openai/a'] })).toEqual(shown(ended))
    expect(await list({ models: ['openai/b', 'openai/a'] })).toEqual(shown(active, ended))
    expect(await list({ models: ['openai'] })).toEqual([])
    expect(await list({ models: [] })).toEqual([])

    expect(await list({ waitingFor: ['APPROVAL'] })).toEqual(shown(both, approval))
    expect(await list({ waitingFor: ['CLIENT_RESULT'] })).toEqual(shown(both, client))
    expect(await list({ waitingFor: ['CLIENT_RESULT', 'APPROVAL'] })).toEqual(shown(both, client, approval))
    expect(await list({ waitingFor: ['APPROVAL'], sentBy: 'bob' })).toEqual(shown(approval))
    expect(await list({ waitingFor: ['APPROVAL'], background: true })).toEqual([])
    expect(await list({ waitingFor: [] })).toEqual([])

    const query = 'query ($filter: RunFilter) { runs(filter: $filter) { totalCount } }'
    expect(await api.error(query, { filter: { metadataContains: ['a'] } })).toMatchObject({
      code: 'BAD_USER_INPUT',
      field: 'filter.metadataContains',
    })
  })

  it('[RUN10] another tenant’s runs are in no list and no count', async () => {
    const mine = await createTenant()
    const other = await createTenant()
    await make.run(other.conversation)
    const filter = { agentIds: [encodeId('Agent', other.agent.id)] }
    const data = await mine.api.data(
      'query ($filter: RunFilter) { all: runs { totalCount nodes { id } } theirs: runs(filter: $filter) { totalCount } }',
      { filter },
    )
    expect(data).toEqual({ all: { totalCount: 0, nodes: [] }, theirs: { totalCount: 0 } })
  })

  it('[RUN11] a list of runs with everything below them costs the same however long it is', async () => {
    const { api, conversation } = await createTenant()
    const addRun = async () => {
      const run = await make.run(conversation, { status: 'AWAITING_APPROVAL', stop_reason: 'REQUIRES_APPROVAL' })
      await make.step(run, { index: 0 })
      await make.message(run, 'ASSISTANT', { text: 'hm', interrupted: false, provider: null }, { step_index: 0 })
      await make.call(run, { step_index: 0, ordinal: 0, status: 'PENDING', needs: 'APPROVAL' })
    }
    const query = `{ runs { totalCount nodes { answer canRetry children { id } agent { id lastStopReason sleeptime { id } }
      conversation { id lastCursor lastStopReason activeRun { id } queue { id } }
      steps { id messages { id inContext } toolCalls { id tool { id } step { id } } }
      pendingToolCalls { id run { id } agent { id } } } } }`
    await addRun()
    const one = await api.statements(query)
    for (let more = 0; more < 9; more += 1) await addRun()
    expect(await api.statements(query)).toBe(one)
  })
})

describe('a conversation and its runs', () => {
  const query = `query ($id: ID!) { conversation(id: $id) {
    activeRun { id } queue { id } lastCursor lastStopReason agent { lastStopReason } } }`

  it('[RUN12] shows its active run, its queue in order, its last cursor and why it last stopped', async () => {
    const { api, conversation } = await createTenant()
    const id = encodeId('Conversation', conversation.id)
    const show = async () => (await api.data(query, { id })).conversation
    expect(await show()).toEqual({
      activeRun: null,
      queue: [],
      // It also names the queue that the reader knows, which is empty.
      lastCursor: `${cursor({ id: conversation.id, conversation_id: conversation.id }, 0)}.q`,
      lastStopReason: null,
      agent: { lastStopReason: null },
    })

    const done = await make.run(conversation, { status: 'COMPLETED', stop_reason: 'END_TURN', next_seq: 7 })
    await make.message(done, 'USER', say('hi'))
    expect(await show()).toMatchObject({
      activeRun: null,
      lastCursor: `${cursor(done, 6)}.q`,
      lastStopReason: 'END_TURN',
    })

    const active = await make.run(conversation, { status: 'RUNNING', next_seq: 4 })
    await setActive(conversation, active)
    const patient = await make.run(conversation, { status: 'QUEUED' })
    const urgent = await make.run(conversation, { status: 'QUEUED', urgent: true })
    await make.run(conversation, { hold: null, status: 'CANCELLED', stop_reason: 'CANCELLED' })
    expect(await show()).toEqual({
      activeRun: { id: shownRun(active) },
      queue: [{ id: shownRun(urgent) }, { id: shownRun(patient) }],
      lastCursor: expect.stringMatching(`^${cursor(active, 3)}\\.q[0-9a-f]{8}$`),
      lastStopReason: 'CANCELLED',
      agent: { lastStopReason: 'CANCELLED' },
    })
  })
})

describe('why a conversation and an agent last stopped', () => {
  it('[RUN15] is that of the run that stopped last, however many newer runs stopped before it', async () => {
    const { api, agent, conversation } = await createTenant()
    const other = await make.conversation({ tenant_id: agent.tenant_id, agent_id: agent.id })
    const query = `{ agent(id: "${encodeId('Agent', agent.id)}") { lastStopReason mainConversation { lastStopReason } } }`
    const show = async () => {
      const { lastStopReason, mainConversation } = (await api.data(query)).agent
      return { agent: lastStopReason, conversation: mainConversation.lastStopReason }
    }
    const hour = (n: number) => new Date(Date.UTC(2026, 0, 1, n))
    const old = await make.run(conversation, { status: 'RUNNING', created_at: hour(0) })
    for (let n = 1; n <= 30; n += 1) {
      await make.run(other, { status: 'COMPLETED', created_at: hour(n), finished_at: hour(n) })
      const finishedAt = new Date(hour(n).getTime() + 1)
      await make.run(conversation, { status: 'CANCELLED', hold: null, created_at: hour(n), finished_at: finishedAt })
    }
    const setOld = (change: object) => ground.db.updateTable('runs').set(change).where('id', '=', old.id).execute()
    expect(await show()).toEqual({ agent: 'CANCELLED', conversation: 'CANCELLED' })

    await setOld({ status: 'AWAITING_APPROVAL', stop_reason: 'REQUIRES_APPROVAL' })
    await make.call(old, { step_index: 0, ordinal: 0, status: 'PENDING', needs: 'APPROVAL' })
    await make.log(old, 2, [
      {
        type: 'status',
        status: 'AWAITING_APPROVAL',
        stopReason: 'REQUIRES_APPROVAL',
        error: null,
        usage: { ...noUsage, steps: 1 },
      },
    ])
    expect(await show()).toEqual({ agent: 'REQUIRES_APPROVAL', conversation: 'REQUIRES_APPROVAL' })

    // It continues: nothing has stopped since.
    await setOld({ status: 'RUNNING' })
    await ground.db.updateTable('tool_calls').set({ status: 'RUNNING' }).where('run_id', '=', old.id).execute()
    expect(await show()).toEqual({ agent: 'REQUIRES_APPROVAL', conversation: 'REQUIRES_APPROVAL' })

    await setOld({ status: 'COMPLETED', stop_reason: 'MAX_STEPS', finished_at: new Date() })
    expect(await show()).toEqual({ agent: 'MAX_STEPS', conversation: 'MAX_STEPS' })
  })
})

describe('sums of tokens', () => {
  it('[RUN16] that exceed an integer stop at the largest one, and the list is shown', async () => {
    const { api, conversation } = await createTenant()
    const most = 2 ** 31 - 1
    await make.run(conversation, { status: 'COMPLETED', input_tokens: most, output_tokens: most })
    const query = '{ runs { nodes { usage { inputTokens outputTokens totalTokens } } } }'
    const usage = { inputTokens: most, outputTokens: most, totalTokens: most }
    expect((await api.data(query)).runs.nodes).toEqual([{ usage }])
    const odd = { inputTokens: most, outputTokens: 1.5, cachedInputTokens: Number.NaN, reasoningTokens: -1 }
    const reported = { ...odd, costUsd: null }
    const sum = sumOfUsage(reported, { ...reported, outputTokens: Number.POSITIVE_INFINITY })
    expect(sum).toEqual({
      inputTokens: most,
      outputTokens: most,
      cachedInputTokens: 0,
      reasoningTokens: 0,
      costUsd: null,
    })
  })
})

describe('a cursor beside other fields', () => {
  it('[RUN14] what a conversation shows is read after the entry that its cursor names', async () => {
    const { conversation, tenantId } = await createTenant()
    const run = await make.run(conversation, { status: 'QUEUED' })
    await setActive(conversation, run)
    const order: string[] = []
    // A statement is sent when it asks for a connection, which may have to be opened first.
    const pool = {
      async connect() {
        order.push('sent')
        const client = await ground.pool.connect()
        return {
          async query(text: string, values: unknown[]) {
            const result = await client.query(text, values)
            order.push('read')
            return result
          },
          release: () => client.release(),
        }
      },
      end: async () => {},
    }
    const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool: pool as unknown as PostgresPool }) })
    const viewer = { ...ground.viewer, tenantId }
    const { errors } = await graphql({
      schema,
      source: `{ conversation(id: "${encodeId('Conversation', conversation.id)}") {
        messages { nodes { id } } runs { nodes { id } } queue { id } lastStopReason activeRun { id } lastCursor } }`,
      contextValue: { ...ground.context, db, viewer, loaders: createLoaders(db, viewer) },
    })
    expect(errors).toBeUndefined()
    // The conversation, its head, and then the four others in any order. The head names the active run and the queue,
    // whose runs are read together.
    expect(order.slice(0, 4)).toEqual(['sent', 'read', 'sent', 'read'])
    expect(order.slice(4, 8)).toEqual(['sent', 'sent', 'sent', 'sent'])
  })
})
