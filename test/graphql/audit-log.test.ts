import { afterAll, describe, expect, it } from 'vitest'

import { operationAccess } from '../../src/auth/scopes.ts'
import { addMcpServer, removeMcpServer, refreshMcpServer } from '../../src/commands/tools/mcp-server.ts'
import { createApiKey } from '../../src/commands/access/create-api-key.ts'
import { schema } from '../../src/graphql/schema.ts'
import { deleteAuditEntries } from '../../src/store/retention.ts'
import { createGround } from '../support/execute.ts'
import { encodeId, uuidOf } from '../../src/domain/ids.ts'
import { createFixtures } from '../support/fixtures.ts'

const ground = await createGround()
afterAll(() => ground.close())

const list = `query ($filter: AuditLogFilter, $first: Int, $after: String) {
  auditLog(filter: $filter, first: $first, after: $after) { totalCount pageInfo { hasNextPage endCursor } nodes {
    id at actor { kind id name } action subjectId subject { __typename id } before after } } }`

async function entries(filter: Record<string, unknown>): Promise<any[]> {
  return (await ground.run(list, { filter })).auditLog.nodes
}

/** Runs a mutation with one input, and returns its payload. */
async function mutate(name: string, input: Record<string, unknown>, selection: string): Promise<any> {
  const type = schema.getMutationType()!.getFields()[name]!.args[0]!.type
  const data = await ground.run(`mutation ($input: ${String(type)}) { ${name}(input: $input) { ${selection} } }`, {
    input,
  })
  return data[name]
}

const makeAgent = async (input: object = {}): Promise<string> => {
  const given = { name: 'an agent', model: 'demo/scripted', includeBaseTools: false, ...input }
  return (await mutate('createAgent', given, 'agent { id }')).agent.id
}
const makeBlock = async (label: string): Promise<string> =>
  (await mutate('createBlock', { label, value: 'first' }, 'block { id }')).block.id
const makeTool = async (name: string, headers = { authorization: 'Bearer planted-1' }): Promise<string> => {
  const implementation = { http: { url: 'https://tools.example/', headers } }
  return (await mutate('upsertTool', { name, implementation }, 'tool { id }')).tool.id
}

describe('what is recorded', () => {
  it('[AUD1] a change of settings names who, what, and the affected settings before and after', async () => {
    const id = await makeAgent()
    await mutate('updateAgent', { id, name: 'renamed', tags: ['x'] }, 'agent { id }')
    await mutate('deleteAgent', { id }, 'deletedId')
    const [deleted, updated, created] = await entries({ subjectId: id })
    expect(updated).toEqual({
      id: expect.stringMatching(/^audit_[0-9a-f]{32}$/),
      at: expect.any(String),
      actor: { kind: 'KEY', id: 'default', name: 'default' },
      action: 'updateAgent',
      subjectId: id,
      subject: null,
      before: { name: 'an agent', tags: [] },
      after: { name: 'renamed', tags: ['x'] },
    })
    expect(created).toMatchObject({ action: 'createAgent', before: null, after: { name: 'an agent', tools: [] } })
    expect(deleted).toMatchObject({ action: 'deleteAgent', before: { name: 'renamed' }, after: null })
  })

  it('[AUD1] tools and blocks of an agent are recorded as they are attached, set and detached', async () => {
    const [agentId, toolId, blockId] = [await makeAgent(), await makeTool('attached'), await makeBlock('attached')]
    await mutate('attachTool', { agentId, toolId }, 'agent { id }')
    await mutate('setToolApproval', { agentId, toolId, requiresApproval: true }, 'agent { id }')
    await mutate('attachBlock', { agentId, blockId }, 'agent { id }')
    await mutate('detachTool', { agentId, toolId }, 'agent { id }')
    await mutate('detachBlock', { agentId, blockId }, 'agent { id }')
    const recorded = (await entries({ subjectId: agentId })).map(({ action, before, after }) => [action, before, after])
    const tool = (approvalOverride: boolean | null) => ({ tools: [{ toolId, approvalOverride }] })
    expect(recorded.slice(0, 5)).toEqual([
      ['detachBlock', { blockIds: [blockId] }, null],
      ['detachTool', tool(true), null],
      ['attachBlock', null, { blockIds: [blockId] }],
      ['setToolApproval', tool(null), tool(true)],
      ['attachTool', null, tool(null)],
    ])
  })

  it('[AUD1] a change that changes nothing is not recorded', async () => {
    const [id, toolId, blockId] = [await makeAgent(), await makeTool('same'), await makeBlock('same')]
    await mutate('updateAgent', { id, name: 'an agent' }, 'agent { id }')
    await mutate('updateBlock', { id: blockId, value: 'first' }, '__typename')
    await mutate('detachTool', { agentId: id, toolId }, 'agent { id }')
    await mutate('detachBlock', { agentId: id, blockId }, 'agent { id }')
    await makeTool('same')
    for (const subjectId of [id, toolId, blockId]) expect(await entries({ subjectId })).toHaveLength(1)
  })

  it('[AUD2] headers are shown by name, also if only their values changed', async () => {
    const toolId = await makeTool('secretive')
    const http = { url: 'https://tools.example/', headers: { authorization: 'Bearer planted-2' } }
    await mutate('updateTool', { id: toolId, implementation: { http } }, 'tool { id }')
    const [updated, created] = await entries({ subjectId: toolId })
    expect(created.after).toMatchObject({ kind: 'HTTP', headerNames: ['authorization'] })
    expect(updated).toMatchObject({
      before: { headerNames: ['authorization'] },
      after: { headerNames: ['authorization'] },
    })
    const { rows } = await ground.pool.query('select audit_entries::text as whole from audit_entries')
    expect(rows.map(({ whole }) => whole).join()).not.toContain('planted')
  })

  it('[AUD2] a key is recorded without its secret, and with no actor if it comes from the command line', async () => {
    const { apiKey, secret } = await mutate('createApiKey', { name: 'k', scopes: ['READ'] }, 'apiKey { id } secret')
    for (let times = 0; times < 2; times += 1) await mutate('revokeApiKey', { id: apiKey.id }, 'apiKey { id }')
    const [revoked, created, ...more] = await entries({ subjectId: apiKey.id })
    expect(more).toEqual([])
    expect(created).toMatchObject({ action: 'createApiKey', after: { name: 'k', scopes: ['READ'], expiresAt: null } })
    expect(revoked).toMatchObject({ before: { revokedAt: null }, after: { revokedAt: expect.any(String) } })
    expect(JSON.stringify(created)).not.toContain(secret)

    const { tenantId } = ground.viewer
    await createApiKey(ground.context, { tenantId, createdBy: null }, { name: 'cli', scopes: ['READ'] })
    const [last] = await entries({ actions: ['createApiKey'] })
    expect(last).toMatchObject({ actor: null, after: { name: 'cli' } })
  })

  it('[AUD2] a token is recorded without the token, with the tenant as its subject', async () => {
    const agentId = await makeAgent()
    const given = { subject: 'ada', name: 'Ada', scopes: ['READ'], allowedAgentIds: [agentId] }
    const { createToken } = await ground.run(
      'mutation ($input: CreateTokenInput!) { createToken(input: $input) { token } }',
      { input: given },
      { ...ground.viewer, keyId: null },
    )
    const [entry] = await entries({ actions: ['createToken'] })
    expect(entry).toMatchObject({
      subjectId: expect.stringMatching(/^tenant_/),
      subject: null,
      before: null,
      after: given,
    })
    expect(JSON.stringify(entry)).not.toContain(createToken.token)
  })

  it('[AUD7] every mutation that needs MANAGE is recorded under its name', async () => {
    const { viewer } = ground
    const needed = Object.entries(operationAccess['Mutation']!).filter(([, { scopes }]) => scopes.includes('MANAGE'))
    const tools = { ...ground.context.tools, listMcpTools: async () => [] }
    const context = { ...ground.context, tools }
    await ground.run(
      'mutation ($input: CreateTokenInput!) { createToken(input: $input) { token } }',
      { input: { subject: 'ada', scopes: ['READ'] } },
      { ...viewer, keyId: null },
    )
    const [agentId, toolId, blockId] = [await makeAgent(), await makeTool('every'), await makeBlock('every')]
    await mutate('updateAgent', { id: agentId, name: 'every' }, '__typename')
    await mutate('upsertAgent', { key: 'every', agent: { name: 'every', model: 'demo/scripted' } }, '__typename')
    await mutate('attachTool', { agentId, toolId }, '__typename')
    await mutate('setToolApproval', { agentId, toolId, requiresApproval: true }, '__typename')
    await mutate('detachTool', { agentId, toolId }, '__typename')
    await mutate('attachBlock', { agentId, blockId }, '__typename')
    await mutate('detachBlock', { agentId, blockId }, '__typename')
    await mutate('updateBlock', { id: blockId, value: 'second' }, '__typename')
    await mutate('deleteBlock', { id: blockId }, '__typename')
    await mutate('updateTool', { id: toolId, tags: ['every'] }, '__typename')
    await mutate('deleteTool', { id: toolId }, '__typename')
    const { group } = await mutate('createSleeptimeGroup', { agentId }, 'group { id }')
    await mutate('updateSleeptimeGroup', { id: group.id, frequency: 2 }, '__typename')
    await mutate('deleteSleeptimeGroup', { id: group.id }, '__typename')
    const given = { name: 'every', agentId, cron: '0 8 * * *', messages: [{ text: 'hi' }] }
    const { schedule } = await mutate('createSchedule', given, 'schedule { id }')
    await mutate('updateSchedule', { id: schedule.id, enabled: false }, '__typename')
    await mutate('deleteSchedule', { id: schedule.id }, '__typename')
    const { passages } = await mutate('addPassages', { agentId, passages: [{ text: 'a' }] }, 'passages { id }')
    await mutate('deletePassages', { ids: [passages[0].id] }, '__typename')
    const { budget } = await mutate('createBudget', { agentId, period: 'DAY', limitTokens: 1 }, 'budget { id }')
    await mutate('updateBudget', { id: budget.id, limitTokens: 2 }, '__typename')
    await mutate('deleteBudget', { id: budget.id }, '__typename')
    const make = createFixtures(ground.db)
    const ofAgent = { tenant_id: viewer.tenantId, agent_id: uuidOf('Agent', agentId)! }
    const waiting = await make.run(await make.conversation(ofAgent))
    const pending = { needs: 'APPROVAL', status: 'PENDING', step_index: 0, ordinal: 0 } as const
    const call = await make.call(waiting, pending)
    const person = { personId: 'ada', personName: 'Ada' }
    await mutate('createDecisionLink', { toolCallId: encodeId('ToolCall', call.id), ...person }, 'url')
    const hook = { url: 'http://127.0.0.1:9/', events: ['PING'] }
    const { webhook, secret } = await mutate('createWebhook', hook, 'secret webhook { id }')
    await mutate('updateWebhook', { id: webhook.id, headers: { 'x-key': 'every' } }, '__typename')
    const rotated = await mutate('rotateWebhookSecret', { id: webhook.id }, 'secret')
    const { delivery } = await mutate('testWebhook', { id: webhook.id }, 'delivery { id status }')
    expect(delivery.status).toBe('DEAD')
    await mutate('resendWebhookDelivery', { deliveryId: delivery.id }, '__typename')
    await mutate('deleteWebhook', { id: webhook.id }, '__typename')
    const recordedSecrets = await entries({ subjectId: webhook.id })
    for (const text of [secret, rotated.secret, 'every"']) expect(JSON.stringify(recordedSecrets)).not.toContain(text)
    const { agent } = await ground.run('query ($id: ID!) { agent(id: $id) { export } }', { id: agentId })
    await mutate('importAgent', { document: agent.export }, '__typename')
    await mutate('deleteAgent', { id: agentId }, '__typename')
    const { apiKey } = await mutate('createApiKey', { name: 'every', scopes: ['READ'] }, 'apiKey { id }')
    await mutate('revokeApiKey', { id: apiKey.id }, '__typename')
    const { id } = await addMcpServer(context, viewer, { name: 'every', url: 'https://mcp.example/' })
    await refreshMcpServer(context, viewer, { id })
    await removeMcpServer(context, viewer, { id })

    const { rows } = await ground.pool.query('select distinct action from audit_entries where tenant_id = $1', [
      viewer.tenantId,
    ])
    const recorded = rows.map(({ action }) => action)
    expect(needed.map(([name]) => name).filter((name) => !recorded.includes(name))).toEqual([])
    expect(needed.length).toBeGreaterThan(20)
  })

  it('[AUD3] an entry is in the transaction of its change: a change that fails leaves none', async () => {
    const agentId = await makeAgent()
    const { code } = await ground.refusal(
      'mutation ($input: UpdateAgentInput!) { updateAgent(input: $input) { agent { id } } }',
      { id: agentId, name: 'never', tools: [{ toolId: `tool_${'0'.repeat(32)}` }] },
    )
    expect(code).toBe('NOT_FOUND')
    expect(await entries({ subjectId: agentId })).toHaveLength(1)
  })

  it('[AUD3] entries cannot be edited, and outlive their subject', async () => {
    await expect(ground.pool.query("update audit_entries set action = 'other'")).rejects.toThrow('never edited')
    const id = await makeBlock('gone')
    await mutate('deleteBlock', { id }, 'deletedId')
    expect((await entries({ subjectId: id })).map(({ action }) => action)).toEqual(['deleteBlock', 'createBlock'])
  })
})

describe('the list', () => {
  it('[AUD4] is filtered by subject, actor, action and time, newest first, page by page', async () => {
    const id = await makeAgent()
    for (const name of ['a', 'b', 'c']) await mutate('updateAgent', { id, name }, 'agent { id }')
    const names = (nodes: any[]) => nodes.map(({ after }) => after.name)
    expect(names(await entries({ subjectId: id }))).toEqual(['c', 'b', 'a', 'an agent'])
    expect(names(await entries({ subjectId: id, actions: ['createAgent'] }))).toEqual(['an agent'])
    expect(await entries({ subjectId: id, actions: [] })).toEqual([])
    expect(await entries({ subjectId: id, actorId: 'somebody' })).toEqual([])
    expect(await entries({ subjectId: id, actorId: 'default' })).toHaveLength(4)
    const { at } = (await entries({ subjectId: id }))[0]
    expect(names(await entries({ subjectId: id, since: at }))).toContain('c')
    expect(names(await entries({ subjectId: id, until: at }))).not.toContain('c')

    const first = (await ground.run(list, { filter: { subjectId: id }, first: 3 })).auditLog
    expect(first).toMatchObject({ totalCount: 4, pageInfo: { hasNextPage: true } })
    const after = first.pageInfo.endCursor
    expect(names((await ground.run(list, { filter: { subjectId: id }, after })).auditLog.nodes)).toEqual(['an agent'])
  })

  it('[AUD4] shows the subject while it exists, and every entry is a node', async () => {
    const subjectId = await makeAgent()
    const [entry] = await entries({ subjectId })
    expect(entry.subject).toEqual({ __typename: 'Agent', id: subjectId })
    expect(await ground.run('query ($id: ID!) { node(id: $id) { __typename id } }', { id: entry.id })).toEqual({
      node: { __typename: 'AuditEntry', id: entry.id },
    })
  })

  it('[AUD4] needs MANAGE, and shows nothing of another tenant or to a limited viewer', async () => {
    const { id } = (await entries({}))[0]
    const node = 'query ($id: ID!) { node(id: $id) { id } auditLog { totalCount } }'
    const { stranger, viewer } = ground
    expect(await ground.run(node, { id }, stranger)).toEqual({ node: null, auditLog: { totalCount: 0 } })
    const limited = { ...viewer, allowedAgentIds: [] }
    expect((await ground.execute(node, { id }, limited)).errors).toMatchObject([{ code: 'FORBIDDEN' }])
    expect((await ground.run('query ($id: ID!) { node(id: $id) { id } }', { id }, limited)).node).toBeNull()
    const { errors } = await ground.execute('{ auditLog { totalCount } }', {}, { ...viewer, scopes: ['READ', 'RUN'] })
    expect(errors).toMatchObject([{ code: 'FORBIDDEN' }])
  })

  it('[AUD5] old entries are deleted in batches, and no others', async () => {
    const before = (await ground.run(list)).auditLog.totalCount
    await ground.pool.query(`insert into audit_entries (id, tenant_id, at, action, subject_id)
      select ('01900000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, tenants.id, '2024-06-01', 'old', 'x'
      from generate_series(1, 5) n, tenants where name = 'default'`)
    const scope = { of: { tenantId: ground.viewer.tenantId, exceptAgentIds: [] }, before: new Date('2025-01-01') }
    const deleteBatch = () => ground.db.transaction().execute((trx) => deleteAuditEntries(trx, scope, 3))
    expect(await deleteBatch()).toBe(3)
    expect(await deleteBatch()).toBe(2)
    expect(await deleteBatch()).toBe(0)
    expect((await ground.run(list)).auditLog.totalCount).toBe(before)
  })
})
