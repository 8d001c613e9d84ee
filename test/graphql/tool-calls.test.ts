import { afterAll, describe, expect, it } from 'vitest'

import { encodeId, encodeStepId } from '../../src/domain/ids.ts'
import { defineTool } from '../../src/tools/registry.ts'
import { startTestApp } from '../support/app.ts'
import { createGround } from '../support/execute.ts'
import { createFixtures } from '../support/fixtures.ts'
import { createExecutor } from '../support/run-executor.ts'

const ground = await createGround()
const make = createFixtures(ground.db)
afterAll(() => ground.close())

let tenants = 0
async function createTenant() {
  const tenantId = await make.tenant(`tool calls ${(tenants += 1)}`)
  const agent = await make.agent({ tenant_id: tenantId })
  const conversation = await make.conversation({ tenant_id: tenantId, agent_id: agent.id, is_main: true })
  return { tenantId, agent, conversation, api: createExecutor(ground, tenantId) }
}

const grace = { kind: 'PERSON', id: 'grace', name: 'Grace' }
const shownCall = (call: { readonly id: string }) => encodeId('ToolCall', call.id)

describe('tool calls', () => {
  it('[CALL1] a call shows its arguments, decision, result, run and agent', async () => {
    const { api, tenantId, agent, conversation } = await createTenant()
    const tool = await make.tool({ tenant_id: tenantId, name: 'pay' })
    const run = await make.run(conversation)
    await make.step(run, { index: 2 })
    const call = await make.call(run, {
      step_index: 2,
      ordinal: 0,
      name: 'pay',
      arguments_text: '{"sum": 10}',
      arguments: '{"sum":10}',
      edited_arguments: '{"sum":5}',
      needs: 'APPROVAL',
      status: 'SUCCEEDED',
      decision: JSON.stringify({ kind: 'APPROVED', reason: null, scope: 'RUN', actor: grace }),
      decided_by: grace.id,
      decided_at: new Date('2026-01-01T00:00:00Z'),
      result: JSON.stringify({
        status: 'SUCCESS',
        output: 'paid',
        stdout: [],
        stderr: ['careful'],
        truncated: true,
        durationMs: 1.5,
      }),
    })
    const data = await api.data(`{ node(id: "${shownCall(call)}") { ... on ToolCall {
      id providerCallId name argumentsText arguments editedArguments status needs expiresAt startedAt
      tool { id } agent { id } conversation { id } run { id } step { id }
      decision { toolCallId kind scope reason editedArguments toolReturn status decidedBy actor { kind id name } }
      result { toolCallId output stderr truncated durationMs } } } }`)
    expect(data.node).toEqual({
      id: shownCall(call),
      providerCallId: 'call-0',
      name: 'pay',
      argumentsText: '{"sum": 10}',
      arguments: { sum: 10 },
      editedArguments: { sum: 5 },
      status: 'SUCCEEDED',
      needs: 'APPROVAL',
      expiresAt: null,
      startedAt: null,
      tool: { id: encodeId('Tool', tool.id) },
      agent: { id: encodeId('Agent', agent.id) },
      conversation: { id: encodeId('Conversation', conversation.id) },
      run: { id: encodeId('Run', run.id) },
      step: { id: encodeStepId(run.id, 2) },
      decision: {
        toolCallId: shownCall(call),
        kind: 'APPROVED',
        scope: 'RUN',
        reason: null,
        editedArguments: { sum: 5 },
        // The return of an approved call comes from the tool, not from the decision.
        toolReturn: null,
        status: null,
        decidedBy: 'Grace',
        actor: grace,
      },
      result: { toolCallId: shownCall(call), output: 'paid', stderr: ['careful'], truncated: true, durationMs: 1.5 },
    })
  })

  it('[CALL2] has no tool if it came with the request, or does not exist', async () => {
    const { api, tenantId, conversation } = await createTenant()
    await make.tool({ tenant_id: tenantId, name: 'pay' })
    const brought = { name: 'pay', description: '', parameters: { type: 'object' } }
    const run = await make.run(conversation, { request: JSON.stringify({ messages: [], clientTools: [brought] }) })
    await make.call(run, { step_index: 0, ordinal: 0, name: 'pay', needs: 'CLIENT_EXECUTION' })
    await make.call(run, { step_index: 0, ordinal: 1, name: 'gone' })
    const data = await api.data('{ toolCalls { nodes { name tool { id } } } }')
    expect(data.toolCalls.nodes).toEqual([
      { name: 'pay', tool: null },
      { name: 'gone', tool: null },
    ])
  })

  it('[CALL3] the list is oldest first, counts, and filters by agent, status, need, tool and who decided', async () => {
    const { api, tenantId, agent, conversation } = await createTenant()
    const agent2 = await make.agent({ tenant_id: tenantId })
    const conversation2 = await make.conversation({ tenant_id: tenantId, agent_id: agent2.id })
    const run = await make.run(conversation)
    const run2 = await make.run(conversation2)
    const waiting = await make.call(run, { step_index: 0, ordinal: 0, status: 'PENDING', needs: 'APPROVAL' })
    const client = await make.call(run2, { step_index: 0, ordinal: 0, status: 'PENDING', needs: 'CLIENT_EXECUTION' })
    const decided = await make.call(run, {
      step_index: 0,
      ordinal: 1,
      name: 'pay',
      status: 'READY',
      needs: 'APPROVAL',
      decision: JSON.stringify({ kind: 'APPROVED', reason: null, scope: 'ONCE', actor: grace }),
      decided_by: grace.id,
      decided_at: new Date(),
    })
    const list = async (filter: object, first = 50) => {
      const { toolCalls } = await api.data(
        'query ($filter: ToolCallFilter, $first: Int) { toolCalls(filter: $filter, first: $first) { totalCount nodes { id } } }',
        { filter, first },
      )
      return [toolCalls.totalCount, ...toolCalls.nodes.map((node: { id: string }) => node.id)]
    }
    expect(await list({})).toEqual([3, ...[waiting, client, decided].map(shownCall)])
    expect(await list({ statuses: ['PENDING'] })).toEqual([2, ...[waiting, client].map(shownCall)])
    expect(await list({ statuses: ['PENDING'] }, 1)).toEqual([2, shownCall(waiting)])
    expect(await list({ statuses: ['PENDING', 'READY'], needs: ['APPROVAL'] })).toEqual([
      2,
      ...[waiting, decided].map(shownCall),
    ])
    expect(await list({ statuses: [] })).toEqual([0])
    expect(await list({ agentIds: [encodeId('Agent', agent.id)] })).toEqual([2, ...[waiting, decided].map(shownCall)])
    expect(await list({ toolNames: ['pay', 'nothing'] })).toEqual([1, shownCall(decided)])
    expect(await list({ decidedBy: grace.id })).toEqual([1, shownCall(decided)])
    const query = 'query ($filter: ToolCallFilter) { toolCalls(filter: $filter) { totalCount } }'
    expect(await api.error(query, { filter: { agentIds: ['x'] } })).toMatchObject({
      code: 'BAD_USER_INPUT',
      field: 'filter.agentIds.0',
    })
  })

  it('[CALL7] the list filters by run, conversation and time', async () => {
    const { api, tenantId, agent, conversation } = await createTenant()
    const conversation2 = await make.conversation({ tenant_id: tenantId, agent_id: agent.id })
    const run = await make.run(conversation)
    const run2 = await make.run(conversation)
    const run3 = await make.run(conversation2)
    const callOn = (of: typeof run, day: string) => {
      const created_at = new Date(`${day}T00:00:00Z`)
      return make.call(of, { step_index: 0, ordinal: 0, created_at, status: 'PENDING', needs: 'APPROVAL' })
    }
    const call = await callOn(run, '2026-01-01')
    const call2 = await callOn(run2, '2026-01-02')
    const call3 = await callOn(run3, '2026-01-03')
    const query = 'query ($filter: ToolCallFilter) { toolCalls(filter: $filter) { totalCount nodes { id } } }'
    const list = async (filter: object) => {
      const { toolCalls } = await api.data(query, { filter })
      expect(toolCalls.totalCount).toBe(toolCalls.nodes.length)
      return toolCalls.nodes.map(({ id }: { id: string }) => id)
    }
    expect(await list({ runId: encodeId('Run', run2.id) })).toEqual([shownCall(call2)])
    expect(await list({ runId: encodeId('Run', run2.id), statuses: ['FAILED'] })).toEqual([])
    expect(await list({ conversationId: encodeId('Conversation', conversation.id) })).toEqual(
      [call, call2].map(shownCall),
    )
    expect(
      await list({ conversationId: encodeId('Conversation', conversation2.id), runId: encodeId('Run', run.id) }),
    ).toEqual([])
    expect(await list({ createdAfter: '2026-01-01T00:00:00Z' })).toEqual([call2, call3].map(shownCall))
    expect(await list({ createdBefore: '2026-01-03T00:00:00Z', statuses: ['PENDING'] })).toEqual(
      [call, call2].map(shownCall),
    )
    expect(await list({ createdAfter: '2026-01-01T12:00:00Z', createdBefore: '2026-01-02T12:00:00Z' })).toEqual([
      shownCall(call2),
    ])
    expect(await list({ runId: null, conversationId: null, createdAfter: null })).toHaveLength(3)
    expect(await list({ runId: 'run_x' })).toEqual([])
    expect(await api.error(query, { filter: { runId: encodeId('Agent', agent.id) } })).toMatchObject({
      code: 'BAD_USER_INPUT',
      field: 'filter.runId',
    })
  })

  it('[CALL4] a run shows what it waits for only while it waits', async () => {
    const { api, conversation } = await createTenant()
    const run = await make.run(conversation, { status: 'AWAITING_APPROVAL', stop_reason: 'REQUIRES_APPROVAL' })
    await make.call(run, { step_index: 0, ordinal: 0, status: 'READY' })
    const second = await make.call(run, { step_index: 0, ordinal: 2, status: 'PENDING', needs: 'APPROVAL' })
    const first = await make.call(run, { step_index: 0, ordinal: 1, status: 'PENDING', needs: 'CLIENT_EXECUTION' })
    const pending = async () =>
      (await api.data(`{ run(id: "${encodeId('Run', run.id)}") { pendingToolCalls { id } } }`)).run.pendingToolCalls
    expect(await pending()).toEqual([{ id: shownCall(first) }, { id: shownCall(second) }])
    await ground.db.updateTable('runs').set({ status: 'RUNNING' }).where('id', '=', run.id).execute()
    expect(await pending()).toEqual([])
  })

  it('[CALL5] another tenant’s calls are in no list and not found', async () => {
    const mine = await createTenant()
    const other = await createTenant()
    const run = await make.run(other.conversation)
    const call = await make.call(run, { step_index: 0, ordinal: 0, status: 'PENDING', needs: 'APPROVAL' })
    const agentId = encodeId('Agent', other.agent.id)
    const data = await mine.api.data(`{ node(id: "${shownCall(call)}") { id } toolCalls { totalCount nodes { id } }
      pending: toolCalls(filter: { statuses: [PENDING] }) { totalCount }
      theirs: toolCalls(filter: { agentIds: ["${agentId}"] }) { totalCount } }`)
    expect(data).toEqual({
      node: null,
      toolCalls: { totalCount: 0, nodes: [] },
      pending: { totalCount: 0 },
      theirs: { totalCount: 0 },
    })
  })
})

it('[CALL6] arguments keep the order of keys that the model gave, for the tool, the API and the next request', async () => {
  const pick = defineTool({
    name: 'pick',
    description: 'Repeats its arguments.',
    parameters: { type: 'object' },
    run: (given) => JSON.stringify(given),
  })
  const app = await startTestApp({ tools: [pick] })
  try {
    const tool = (await app.data('{ tools(filter: { nameContains: "pick" }) { nodes { id } } }')).tools.nodes[0].id
    const written = '{"zebra":1,"b":{"y":1,"x":2},"aa":3}'
    const { createAgent } = await app.data(
      'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id mainConversation { id } } } }',
      { input: { name: 'Ada', model: 'demo/scripted', tools: [{ toolId: tool }] } },
    )
    const { id, mainConversation } = createAgent.agent
    await app.data(
      'mutation ($input: SendMessageInput!) { sendMessage(input: $input) { ... on SendMessageSuccess { run { status } } } }',
      { input: { to: { agentId: id }, messages: [{ text: `call pick ${written}` }], waitMs: 20_000 } },
    )
    const { toolCalls, conversation } = await app.data(
      'query ($id: ID!) { toolCalls { nodes { arguments result { output } } } conversation(id: $id) { context { request } } }',
      { id: mainConversation.id },
    )
    expect(JSON.stringify(toolCalls.nodes[0].arguments)).toBe(written)
    expect(toolCalls.nodes[0].result.output).toBe(written)
    expect(JSON.stringify(conversation.context.request)).toContain(JSON.stringify(written).slice(1, -1))
  } finally {
    await app.stop()
  }
})
