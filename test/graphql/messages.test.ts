import { afterAll, describe, expect, it } from 'vitest'

import { encodeId, encodeStepId } from '../../src/domain/ids.ts'
import { createGround } from '../support/execute.ts'
import { createFixtures } from '../support/fixtures.ts'
import { createExecutor } from '../support/run-executor.ts'

const ground = await createGround()
const make = createFixtures(ground.db)
afterAll(() => ground.close())

let tenants = 0
async function createTenant() {
  const tenantId = await make.tenant(`messages ${(tenants += 1)}`)
  const agent = await make.agent({ tenant_id: tenantId })
  const conversation = await make.conversation({ tenant_id: tenantId, agent_id: agent.id, is_main: true })
  return { tenantId, agent, conversation, api: createExecutor(ground, tenantId) }
}

type Conversation = Awaited<ReturnType<typeof createTenant>>['conversation']

const success = { status: 'SUCCESS' as const, stdout: [], stderr: [], truncated: false, durationMs: 12 }

/** A turn with one step and three calls, of which two had to wait: all nine types of messages except the summary. */
async function createTurn(conversation: Conversation) {
  const run = await make.run(conversation, { status: 'COMPLETED', stop_reason: 'END_TURN' })
  await make.step(run, { index: 0 })
  await make.message(run, 'SYSTEM', { content: [{ text: 'Be brief.' }] })
  await make.message(
    run,
    'USER',
    { content: [{ text: 'one' }, { imageUrl: 'https://example.com/a.png' }, { text: 'two' }] },
    { client_id: 'mine-1' },
  )
  const ofStep = { step_index: 0 }
  await make.message(run, 'REASONING', { text: '', redacted: true, provider: null }, ofStep)
  await make.message(run, 'ASSISTANT', { text: 'Let me', interrupted: true, provider: null }, ofStep)
  await make.message(run, 'TOOL_CALL', {}, ofStep)
  await make.message(run, 'APPROVAL_REQUEST', {}, ofStep)
  await make.message(run, 'APPROVAL_RESPONSE', {}, ofStep)
  await make.message(run, 'TOOL_RETURN', {}, ofStep)

  const decidedAt = new Date('2026-01-01T00:00:00.000Z')
  const denied = await make.call(run, {
    step_index: 0,
    ordinal: 0,
    needs: 'APPROVAL',
    status: 'DENIED',
    decision: JSON.stringify({
      kind: 'DENIED',
      reason: 'too dear',
      scope: null,
      actor: { kind: 'PERSON', id: 'grace', name: 'Grace' },
    }),
    decided_by: 'grace',
    decided_at: decidedAt,
    result: JSON.stringify({ ...success, status: 'ERROR', output: 'denied: too dear', durationMs: null }),
  })
  const own = await make.call(run, {
    step_index: 0,
    ordinal: 1,
    name: 'clock',
    status: 'SUCCEEDED',
    result: JSON.stringify({ ...success, output: '12:00', stdout: ['tick'] }),
  })
  const client = await make.call(run, {
    step_index: 0,
    ordinal: 2,
    needs: 'CLIENT_EXECUTION',
    status: 'SUCCEEDED',
    decision: JSON.stringify({ kind: 'CLIENT_RETURN', reason: null, scope: null, actor: null }),
    decided_by: null,
    decided_at: decidedAt,
    result: JSON.stringify({ ...success, output: 'done' }),
  })
  return { run, denied, own, client }
}

const fields = `__typename id position clientId inContext run { id } step { id } conversation { id }
  ... on SystemMessage { text } ... on UserMessage { text content { text imageUrl } }
  ... on ReasoningMessage { text redacted } ... on AssistantMessage { text interrupted }
  ... on ToolCallMessage { toolCalls { id } } ... on ApprovalRequestMessage { toolCalls { id } }
  ... on ApprovalResponseMessage { decisions { toolCallId kind reason scope toolReturn status decidedBy decidedAt } }
  ... on ToolReturnMessage { toolReturns { toolCallId providerCallId name status output stdout truncated durationMs } }
  ... on SummaryMessage { text }`

describe('messages', () => {
  it('[MSG1] each type shows what is stored, its calls, decisions and returns in the order of the calls', async () => {
    const { api, conversation } = await createTenant()
    const { run, denied, own, client } = await createTurn(conversation)
    const data = await api.data(`query ($id: ID!) { conversation(id: $id) { messages { nodes { ${fields} } } } }`, {
      id: encodeId('Conversation', conversation.id),
    })
    const { nodes } = data.conversation.messages
    const common = { inContext: true, run: { id: encodeId('Run', run.id) } }
    const ofStep = { ...common, clientId: null, step: { id: encodeStepId(run.id, 0) } }
    const callId = (call: { id: string }) => encodeId('ToolCall', call.id)
    expect(nodes).toMatchObject([
      { __typename: 'SystemMessage', ...common, position: 1, step: null, clientId: null, text: 'Be brief.' },
      {
        __typename: 'UserMessage',
        ...common,
        position: 2,
        step: null,
        clientId: 'mine-1',
        text: 'one\ntwo',
        content: [
          { text: 'one', imageUrl: null },
          { text: null, imageUrl: 'https://example.com/a.png' },
          { text: 'two', imageUrl: null },
        ],
      },
      { __typename: 'ReasoningMessage', ...ofStep, text: '', redacted: true },
      { __typename: 'AssistantMessage', ...ofStep, text: 'Let me', interrupted: true },
      { __typename: 'ToolCallMessage', ...ofStep, toolCalls: [{ id: callId(own) }] },
      { __typename: 'ApprovalRequestMessage', ...ofStep, toolCalls: [{ id: callId(denied) }, { id: callId(client) }] },
      {
        __typename: 'ApprovalResponseMessage',
        ...ofStep,
        decisions: [
          {
            toolCallId: callId(denied),
            kind: 'DENIED',
            reason: 'too dear',
            scope: null,
            toolReturn: null,
            status: null,
            decidedBy: 'Grace',
            decidedAt: '2026-01-01T00:00:00.000Z',
          },
          {
            toolCallId: callId(client),
            kind: 'CLIENT_RETURN',
            reason: null,
            scope: null,
            toolReturn: 'done',
            status: 'SUCCESS',
            decidedBy: null,
            decidedAt: '2026-01-01T00:00:00.000Z',
          },
        ],
      },
      {
        __typename: 'ToolReturnMessage',
        ...ofStep,
        toolReturns: [
          { toolCallId: callId(denied), status: 'ERROR', output: 'denied: too dear', durationMs: null },
          {
            toolCallId: callId(own),
            providerCallId: 'call-1',
            name: 'clock',
            status: 'SUCCESS',
            output: '12:00',
            stdout: ['tick'],
          },
          { toolCallId: callId(client), status: 'SUCCESS', output: 'done', truncated: false },
        ],
      },
    ])

    const byId = await api.data(
      'query ($ids: [ID!]!) { nodes(ids: $ids) { __typename ... on Message { position } } }',
      { ids: nodes.map((node: { id: string }) => node.id) },
    )
    expect(
      byId.nodes.map((node: { __typename: string; position: number }) => [node.__typename, node.position]),
    ).toEqual(nodes.map((node: { __typename: string; position: number }) => [node.__typename, node.position]))
  })

  it('[MSG2] the model sees the messages in the context that are not excluded, and the current summary', async () => {
    const { api, conversation } = await createTenant()
    const run = await make.run(conversation)
    await make.message(run, 'USER', { content: [{ text: 'compacted' }] })
    await make.message(run, 'SUMMARY', { text: 'older summary', contextFrom: 1 })
    await make.message(run, 'USER', { content: [{ text: 'kept' }] })
    await make.message(run, 'SUMMARY', { text: 'current summary', contextFrom: 1 })
    await make.message(run, 'USER', { content: [{ text: 'unanswered' }] }, { excluded: true })
    await make.message(run, 'SUMMARY', { text: 'of a compaction that came to nothing', contextFrom: 1 })
    const query = `query ($id: ID!) { conversation(id: $id) { messages { nodes { inContext } } } }`
    const show = async () => {
      const data = await api.data(query, { id: encodeId('Conversation', conversation.id) })
      return data.conversation.messages.nodes.map((node: { inContext: boolean }) => node.inContext)
    }
    await ground.db
      .updateTable('conversations')
      .set({ context_from: 3, summary_position: 4 })
      .where('id', '=', conversation.id)
      .execute()
    expect(await show()).toEqual([false, false, true, true, false, false])

    await ground.db
      .updateTable('conversations')
      .set({ context_from: 7, summary_position: 6 })
      .where('id', '=', conversation.id)
      .execute()
    expect(await show()).toEqual([false, false, false, false, false, true])
  })

  it('[MSG6] a message is in the context exactly if the context shows it, also while a call waits', async () => {
    const { api, conversation } = await createTenant()
    await createTurn(conversation)
    const run = await make.run(conversation, { status: 'RUNNING' })
    await ground.db
      .updateTable('conversations')
      .set({ active_run_id: run.id })
      .where('id', '=', conversation.id)
      .execute()
    const query = `query ($id: ID!) { conversation(id: $id) {
      messages(first: 200) { nodes { id inContext } } context { messages { id } } } }`
    const compare = async () => {
      const { messages, context } = (await api.data(query, { id: encodeId('Conversation', conversation.id) }))
        .conversation
      const shown = messages.nodes.filter((node: { inContext: boolean }) => node.inContext)
      expect(shown.map(({ id }: { id: string }) => id)).toEqual(context.messages.map(({ id }: { id: string }) => id))
      return messages.nodes.length - shown.length
    }
    const step = { step_index: 0 }
    const hidden = await compare()
    await make.message(run, 'USER', { content: [{ text: 'go' }] })
    expect(await compare()).toBe(hidden)
    await make.step(run, { index: 0 })
    await make.message(run, 'ASSISTANT', { text: 'I will', interrupted: false, provider: null }, step)
    expect(await compare()).toBe(hidden)
    await make.message(run, 'TOOL_CALL', {}, step)
    await make.call(run, { step_index: 0, ordinal: 0, status: 'READY' })
    expect(await compare()).toBe(hidden + 2)
    await make.message(run, 'APPROVAL_REQUEST', {}, step)
    await make.call(run, { step_index: 0, ordinal: 1, status: 'PENDING', needs: 'APPROVAL' })
    expect(await compare()).toBe(hidden + 3)
    await make.message(run, 'APPROVAL_RESPONSE', {}, step)
    expect(await compare()).toBe(hidden + 4)
    await make.message(run, 'TOOL_RETURN', {}, step)
    expect(await compare()).toBe(hidden)
  })

  it('[MSG3] a list is in the order of positions, filters by type and pages both ways', async () => {
    const { api, conversation } = await createTenant()
    await createTurn(conversation)
    const query = `query ($id: ID!, $first: Int, $after: String, $last: Int, $filter: MessageFilter) { conversation(id: $id) {
      messages(first: $first, after: $after, last: $last, filter: $filter) {
        nodes { position } pageInfo { endCursor hasNextPage hasPreviousPage } } } }`
    const list = async (variables: object) => {
      const data = await api.data(query, { id: encodeId('Conversation', conversation.id), ...variables })
      const { nodes, pageInfo } = data.conversation.messages
      return { positions: nodes.map((node: { position: number }) => node.position), ...pageInfo }
    }
    const first = await list({ first: 5 })
    expect(first).toMatchObject({ positions: [1, 2, 3, 4, 5], hasNextPage: true, hasPreviousPage: false })
    expect(await list({ first: 5, after: first.endCursor })).toMatchObject({ positions: [6, 7, 8], hasNextPage: false })
    expect(await list({ last: 2 })).toMatchObject({ positions: [7, 8], hasPreviousPage: true })
    expect(await list({ filter: { types: ['TOOL_RETURN', 'USER'] } })).toMatchObject({ positions: [2, 8] })
    expect(await list({ filter: { types: [] } })).toMatchObject({ positions: [] })
    expect(await list({ filter: {} })).toMatchObject({ positions: [1, 2, 3, 4, 5, 6, 7, 8] })
  })

  it('[MSG4] a list of messages with their calls and steps costs the same however long it is', async () => {
    const { api, conversation } = await createTenant()
    const query = `query ($id: ID!) { conversation(id: $id) { lastCursor messages(first: 200) { nodes { ${fields}
      ... on ApprovalRequestMessage { toolCalls { tool { id } step { id } run { id } decision { kind } } } } } } }`
    const variables = { id: encodeId('Conversation', conversation.id) }
    await createTurn(conversation)
    const one = await api.statements(query, variables)
    for (let more = 0; more < 9; more += 1) await createTurn(conversation)
    expect(await api.statements(query, variables)).toBe(one)
    // Two of them load the content of the messages and returns.
    expect(one).toBeLessThanOrEqual(10)
  })

  it('[MSG5] another tenant’s message is not found', async () => {
    const mine = await createTenant()
    const other = await createTenant()
    const run = await make.run(other.conversation)
    const message = await make.message(run, 'USER', { content: [{ text: 'secret' }] })
    const query = `{ node(id: "${encodeId('Message', message.id)}") { id } }`
    expect((await mine.api.data(query)).node).toBeNull()
    expect((await other.api.data(query)).node).not.toBeNull()
  })
})
