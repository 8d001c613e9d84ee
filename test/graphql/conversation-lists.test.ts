import { afterAll, describe, expect, it } from 'vitest'

import { encodeId } from '../../src/domain/ids.ts'
import { createGround } from '../support/execute.ts'
import { createFixtures } from '../support/fixtures.ts'
import { createExecutor } from '../support/run-executor.ts'

const ground = await createGround()
const make = createFixtures(ground.db)
afterAll(() => ground.close())

const day = (n: number) => new Date(Date.UTC(2026, 0, n))
const shown = (n: number) => day(n).toISOString()

let tenants = 0
/** Three conversations, created on days 1, 2 and 3. The first was active on day 9, and the second is archived. */
async function createTenant() {
  const tenantId = await make.tenant(`conversation lists ${(tenants += 1)}`)
  const api = createExecutor(ground, tenantId)
  const agent = await make.agent({ tenant_id: tenantId })
  const other = await make.agent({ tenant_id: tenantId })
  const of = { tenant_id: tenantId, agent_id: agent.id }
  const first = await make.conversation({
    ...of,
    is_main: true,
    created_at: day(1),
    title: 'Trip to Rome',
    metadata: '{"customer":{"id":7},"tags":["a","b"]}',
  })
  const second = await make.conversation({ ...of, created_at: day(2), title: 'rome again', archived_at: day(5) })
  const third = await make.conversation({ tenant_id: tenantId, agent_id: other.id, created_at: day(3) })
  const run = await make.run(first, { status: 'FAILED', created_at: day(8), updated_at: day(9), finished_at: day(9) })
  const names = new Map([
    [encodeId('Conversation', first.id), 'first'],
    [encodeId('Conversation', second.id), 'second'],
    [encodeId('Conversation', third.id), 'third'],
  ])
  const list = async (args: string) => {
    const { conversations } = await api.data(`{ conversations(${args}) { nodes { id } totalCount } }`)
    const shown = conversations.nodes.map(({ id }: { id: string }) => names.get(id))
    expect(conversations.totalCount).toBe(shown.length)
    return shown
  }
  return { api, agent, other, first, second, third, run, list }
}

describe('conversations', () => {
  it('[CNV3] of all agents are filtered by agent, metadata, title, activity and archive, and counted', async () => {
    const { list, other } = await createTenant()
    expect(await list('first: 10')).toEqual(['first', 'second', 'third'])
    expect(await list(`filter: { agentIds: ["${encodeId('Agent', other.id)}"] }`)).toEqual(['third'])
    expect(await list('filter: { metadataContains: { customer: { id: 7 }, tags: ["b"] } }')).toEqual(['first'])
    expect(await list('filter: { metadataContains: { customer: { id: 8 } } }')).toEqual([])
    expect(await list('filter: { titleContains: "ROME" }')).toEqual(['first', 'second'])
    expect(await list('filter: { activeSince: "2026-01-03T00:00:00Z" }')).toEqual(['first', 'third'])
    expect(await list('filter: { archived: true }')).toEqual(['second'])
    expect(await list('filter: { archived: false, titleContains: "rome" }')).toEqual(['first'])
  })

  it('[CNV3] of one agent take the same filters', async () => {
    const { api, agent, other, first } = await createTenant()
    const query = (filter: string) =>
      `{ agent(id: "${encodeId('Agent', agent.id)}") { conversations(filter: ${filter}) { nodes { id } totalCount } } }`
    const { conversations } = (await api.data(query('{ archived: false }'))).agent
    expect(conversations).toEqual({ nodes: [{ id: encodeId('Conversation', first.id) }], totalCount: 1 })
    const ofOther = (await api.data(query(`{ agentIds: ["${encodeId('Agent', other.id)}"] }`))).agent.conversations
    expect(ofOther).toEqual({ nodes: [], totalCount: 0 })
  })

  it('[CNV4] are ordered by last activity, page by page', async () => {
    const { api, list } = await createTenant()
    expect(await list('orderBy: LAST_ACTIVITY')).toEqual(['first', 'third', 'second'])
    const query = `query ($after: String, $before: String, $first: Int, $last: Int) {
      conversations(orderBy: LAST_ACTIVITY, after: $after, before: $before, first: $first, last: $last) {
        nodes { id lastActivityAt } pageInfo { startCursor endCursor hasNextPage } } }`
    const whole = (await api.data(query, {})).conversations
    expect(whole.nodes.map(({ lastActivityAt }: { lastActivityAt: string }) => lastActivityAt)).toEqual([
      shown(9),
      shown(3),
      shown(2),
    ])
    const one = (await api.data(query, { first: 1 })).conversations
    const rest = (await api.data(query, { after: one.pageInfo.endCursor })).conversations
    expect([...one.nodes, ...rest.nodes]).toEqual(whole.nodes)
    const back = (await api.data(query, { before: rest.pageInfo.startCursor, last: 1 })).conversations
    expect(back.nodes).toEqual(one.nodes)
  })

  it('[CNV5] show their latest run with its error, and the time of the last activity, also of a run that waits', async () => {
    const { api, first, run } = await createTenant()
    const show = async () =>
      (
        await api.data(
          `{ conversation(id: "${encodeId('Conversation', first.id)}") { latestRun { id status } lastActivityAt } }`,
        )
      ).conversation
    expect(await show()).toEqual({
      latestRun: { id: encodeId('Run', run.id), status: 'FAILED' },
      lastActivityAt: shown(9),
    })
    await make.run(first, { status: 'QUEUED', created_at: day(10), updated_at: day(10) })
    expect(await show()).toMatchObject({ latestRun: { status: 'FAILED' }, lastActivityAt: shown(10) })
    await make.run(first, { status: 'CANCELLED', hold: null, updated_at: day(11), finished_at: day(11) })
    expect(await show()).toMatchObject({ lastActivityAt: shown(11) })
  })

  it('[CNV5] show the end of a run as their last activity, also before the next run has started', async () => {
    const { api, first } = await createTenant()
    await make.run(first, { status: 'COMPLETED', created_at: day(10), updated_at: day(12), finished_at: day(12) })
    // It was accepted while the other ran, and holds the conversation now.
    const next = await make.run(first, { status: 'RUNNING', created_at: day(11), updated_at: day(11) })
    await ground.db.updateTable('runs').set({ status: 'QUEUED' }).where('id', '=', next.id).execute()
    const { nodes } = (
      await api.data('{ conversations(orderBy: LAST_ACTIVITY, first: 1) { nodes { lastActivityAt } } }')
    ).conversations
    expect(nodes).toEqual([{ lastActivityAt: shown(12) }])
  })

  it('[CNV6] can be archived twice and restored', async () => {
    const { api, third } = await createTenant()
    const change = async (mutation: string) => {
      const field = `${mutation}Conversation`
      const input = `input: { id: "${encodeId('Conversation', third.id)}" }`
      return (await api.data(`mutation { ${field}(${input}) { conversation { archivedAt updatedAt } } }`))[field]
        .conversation
    }
    const { archivedAt, updatedAt } = await change('archive')
    expect(archivedAt).toMatch(/^20/)
    expect(updatedAt).toBe(archivedAt)
    expect(await change('archive')).toEqual({ archivedAt, updatedAt })
    const out = await change('unarchive')
    expect(out.archivedAt).toBeNull()
    expect(Date.parse(out.updatedAt)).toBeGreaterThanOrEqual(Date.parse(updatedAt))
    const unknown = encodeId('Conversation', '01890000-0000-7000-8000-000000000000')
    const refused = await api.error(
      `mutation { archiveConversation(input: { id: "${unknown}" }) { conversation { id } } }`,
    )
    expect(refused.code).toBe('NOT_FOUND')
  })

  it('[CNV8] leave the archive with the next message', async () => {
    const { api, second } = await createTenant()
    const id = encodeId('Conversation', second.id)
    const query = `{ conversation(id: "${id}") { archivedAt } }`
    expect((await api.data(query)).conversation.archivedAt).toBe(shown(5))
    const message = `to: { conversationId: "${id}" }, messages: [{ text: "hello" }]`
    const sent = await api.data(`mutation { sendMessage(input: { ${message} }) { __typename } }`)
    expect(sent.sendMessage.__typename).toBe('SendMessageSuccess')
    expect((await api.data(query)).conversation.archivedAt).toBeNull()
  })

  it('[CNV7] are cleared of their runs and messages, also the main one, unless a run holds them', async () => {
    const { api, first, run } = await createTenant()
    await make.message(run, 'USER', { content: [{ text: 'hello' }] })
    await make.step(run, { index: 0 })
    const clear = `mutation { clearConversation(input: { id: "${encodeId('Conversation', first.id)}" }) { __typename
      ... on ClearConversationSuccess { conversation { title latestRun { id } messages { totalCount } runs { totalCount } } }
      ... on ConversationBusyRefusal { run { id } } } }`
    const setActive = (id: string | null) =>
      ground.db.updateTable('conversations').set({ active_run_id: id }).where('id', '=', first.id).execute()
    await setActive(run.id)
    expect((await api.data(clear)).clearConversation).toEqual({
      __typename: 'ConversationBusyRefusal',
      run: { id: encodeId('Run', run.id) },
    })
    await setActive(null)
    expect((await api.data(clear)).clearConversation).toEqual({
      __typename: 'ClearConversationSuccess',
      conversation: { title: 'Trip to Rome', latestRun: null, messages: { totalCount: 0 }, runs: { totalCount: 0 } },
    })
    const next = await make.run(first, { status: 'COMPLETED' })
    const message = await make.message(next, 'USER', { content: [{ text: 'again' }] })
    expect(message.position).toBeGreaterThan(1)
    const query = `{ conversation(id: "${encodeId('Conversation', first.id)}") { messages { nodes { inContext } totalCount } } }`
    expect((await api.data(query)).conversation.messages).toEqual({ nodes: [{ inContext: true }], totalCount: 1 })
  })
})
