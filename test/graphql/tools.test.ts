import { afterAll, describe, expect, it } from 'vitest'

import { builtinTools } from '../../src/domain/tools/builtin-tools.ts'
import { upsertBuiltinTools } from '../../src/store/tools/code-tools.ts'
import { listToolsPage, lockToolsToAttach } from '../../src/store/tools/tools.ts'
import { createGround } from '../support/execute.ts'
import { explain, type Statement } from '../support/explain.ts'
import { hookDatabase } from '../support/gated-database.ts'

const ground = await createGround()
afterAll(() => ground.close())

const fields = `
  id name description kind parameters requiresApproval approvalCondition approvalTimeoutMs parallel idempotent
  returnCharLimit timeoutMs tags source url headerNames createdAt updatedAt
`
const upsert = `mutation ($input: UpsertToolInput!) { upsertTool(input: $input) { tool { ${fields} } } }`
const update = `mutation ($input: UpdateToolInput!) { updateTool(input: $input) { tool { ${fields} } } }`
const remove = 'mutation ($input: DeleteToolInput!) { deleteTool(input: $input) { deletedId } }'
const agentTools = 'agent { id tools { tool { name } requiresApproval approvalOverride } }'

const upsertTool = async (input: Record<string, unknown>) => (await ground.run(upsert, { input })).upsertTool.tool
const updateTool = async (input: Record<string, unknown>) => (await ground.run(update, { input })).updateTool.tool
async function createAgent(input: Record<string, unknown> = {}) {
  const data = await ground.run(
    'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }',
    { input: { name: 'an agent', model: 'demo/scripted', includeBaseTools: false, ...input } },
  )
  return data.createAgent.agent.id as string
}
async function builtin(name: string) {
  const { tools } = await ground.run(`query ($filter: ToolFilter) { tools(filter: $filter) { nodes { ${fields} } } }`, {
    filter: { nameContains: name, kinds: ['BUILTIN'] },
  })
  return tools.nodes[0]
}

describe('upsertTool', () => {
  it('[TOL1] creates a tool with defaults, and completely replaces one of the same name, which keeps its id and agents', async () => {
    const made = await upsertTool({ name: 'lookup', implementation: { client: true } })
    expect(made).toMatchObject({
      id: expect.stringMatching(/^tool_[0-9a-f]{32}$/),
      name: 'lookup',
      description: '',
      kind: 'CLIENT',
      parameters: { type: 'object', properties: {} },
      requiresApproval: false,
      approvalCondition: null,
      approvalTimeoutMs: null,
      parallel: false,
      idempotent: false,
      returnCharLimit: 50_000,
      timeoutMs: 60_000,
      tags: [],
      source: null,
      url: null,
      headerNames: null,
    })
    const agentId = await createAgent({ tools: [{ toolId: made.id }] })
    const settings = {
      description: 'looks up',
      parameters: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
      requiresApproval: true,
      approvalCondition: { required: ['a'] },
      approvalTimeoutMs: 1000,
      parallel: true,
      idempotent: true,
      returnCharLimit: 10,
      timeoutMs: 20,
      tags: ['x'],
    }
    const http = await upsertTool({
      name: 'lookup',
      ...settings,
      implementation: { http: { url: 'https://example.org/a', headers: { Authorization: 'secret' } } },
    })
    expect(http).toMatchObject({
      id: made.id,
      createdAt: made.createdAt,
      kind: 'HTTP',
      url: 'https://example.org/a',
      headerNames: ['Authorization'],
      ...settings,
    })
    const script = await upsertTool({ name: 'lookup', implementation: { javascript: { source: 'export default 1' } } })
    expect(script).toEqual({
      ...made,
      kind: 'JAVASCRIPT',
      source: 'export default 1',
      updatedAt: script.updatedAt,
    })
    const { agent } = await ground.run('query ($id: ID!) { agent(id: $id) { tools { tool { id } } } }', { id: agentId })
    expect(agent.tools).toEqual([{ tool: { id: made.id } }])
  })

  it('[TOL2] a bad value gets BAD_USER_INPUT with the path of the field and the place of the fault', async () => {
    const http = (url: string, headers?: unknown) => ({ implementation: { http: { url, headers } } })
    const cases: [input: Record<string, unknown>, field: string, message: RegExp][] = [
      [{ name: 'a b' }, 'input.name', /"a b".*1 to 64/],
      [{ name: '' }, 'input.name', /1 to 64/],
      [{ name: 'x'.repeat(65) }, 'input.name', /1 to 64/],
      [{ description: 'x'.repeat(10_001) }, 'input.description', /10001/],
      [{ parameters: { type: 'string' } }, 'input.parameters', /type "string".*"type": "object"/],
      [{ parameters: {} }, 'input.parameters', /no type/],
      [{ parameters: [] }, 'input.parameters', /a list/],
      [
        { parameters: { type: 'object', properties: { a: { type: 'strin' } } } },
        'input.parameters',
        /\/properties\/a\/type must be equal to one of/,
      ],
      [{ parameters: { type: 'object', required: 'a' } }, 'input.parameters', /\/required must be array/],
      [{ parameters: { type: 'object', $ref: '#/none' } }, 'input.parameters', /resolve reference #\/none/],
      [{ approvalCondition: 1 }, 'input.approvalCondition', /object or a boolean/],
      [{ approvalTimeoutMs: 0 }, 'input.approvalTimeoutMs', /from 1/],
      [{ returnCharLimit: 0 }, 'input.returnCharLimit', /from 1/],
      [{ timeoutMs: -1 }, 'input.timeoutMs', /-1/],
      [{ tags: [''] }, 'input.tags.0', /empty/],
      [{ implementation: { client: false } }, 'input.implementation.client', /Expected true/],
      [{ implementation: { javascript: { source: ' ' } } }, 'input.implementation.javascript.source', /empty/],
      [http('ftp://example.org'), 'input.implementation.http.url', /http:\/\/ or https:\/\//],
      [http('example.org'), 'input.implementation.http.url', /"example.org"/],
      [http('https://me:secret@example.org'), 'input.implementation.http.url', /password.*header/],
      [http('https://example.org', ['a']), 'input.implementation.http.headers', /a list/],
      [http('https://example.org', { a: 1 }), 'input.implementation.http.headers.a', /string/],
      [http('https://example.org', { 'a b': 'c' }), 'input.implementation.http.headers', /"a b"/],
      [http('https://example.org', { a: 'sec\nret' }), 'input.implementation.http.headers.a', /line break/],
    ]
    for (const [input, field, message] of cases) {
      const error = await ground.refusal(upsert, { name: 'bad', implementation: { client: true }, ...input })
      expect(error).toMatchObject({ code: 'BAD_USER_INPUT', field, message: expect.stringMatching(message) })
      expect(error.message).not.toMatch(/sec\W*ret/)
    }
    const { tools } = await ground.run('{ tools(filter: { nameContains: "bad" }) { nodes { id } } }')
    expect(tools.nodes).toEqual([])
  })
})

describe('updateTool', () => {
  it('[TOL3] keeps stored headers that are omitted, and never shows their values', async () => {
    const tool = await upsertTool({
      name: 'posting',
      implementation: { http: { url: 'https://example.org/1', headers: { 'X-Key': 'top secret' } } },
    })
    const moved = await updateTool({ id: tool.id, implementation: { http: { url: 'https://example.org/2' } } })
    expect(moved).toMatchObject({ url: 'https://example.org/2', headerNames: ['X-Key'] })
    const stored = await ground.db.selectFrom('tools').select('headers').where('name', '=', 'posting').execute()
    expect(stored).toEqual([{ headers: { 'X-Key': 'top secret' } }])
    expect(JSON.stringify(moved)).not.toContain('top secret')
    const bare = await updateTool({
      id: tool.id,
      implementation: { http: { url: 'https://example.org/2', headers: null } },
    })
    expect(bare.headerNames).toEqual([])
    const client = await updateTool({ id: tool.id, implementation: { client: true } })
    expect(client).toMatchObject({ kind: 'CLIENT', url: null, headerNames: null })
  })

  it('[TOL4] keeps omitted values; null restores the default', async () => {
    const tool = await upsertTool({
      name: 'changing',
      description: 'd',
      requiresApproval: true,
      approvalCondition: { required: ['a'] },
      approvalTimeoutMs: 5,
      timeoutMs: 7,
      tags: ['a'],
      parameters: { type: 'object', properties: { a: {} } },
      implementation: { javascript: { source: 'export default 1' } },
    })
    expect(await updateTool({ id: tool.id })).toEqual({ ...tool, updatedAt: expect.any(String) })
    expect(await updateTool({ id: tool.id, parallel: true, tags: ['b'] })).toMatchObject({
      description: 'd',
      parallel: true,
      tags: ['b'],
      timeoutMs: 7,
      source: 'export default 1',
    })
    const cleared = {
      description: null,
      requiresApproval: null,
      approvalCondition: null,
      approvalTimeoutMs: null,
      timeoutMs: null,
      tags: null,
      parameters: null,
    }
    expect(await updateTool({ id: tool.id, ...cleared })).toMatchObject({
      description: '',
      requiresApproval: false,
      approvalCondition: null,
      approvalTimeoutMs: null,
      timeoutMs: 60_000,
      tags: [],
      parameters: { type: 'object', properties: {} },
    })
    expect(await ground.refusal(update, { id: tool.id, implementation: null })).toMatchObject({
      code: 'BAD_USER_INPUT',
      field: 'input.implementation',
    })
    expect(await ground.refusal(update, { id: `tool_${'0'.repeat(32)}` })).toMatchObject({ code: 'NOT_FOUND' })
  })

  it('[TOL5] changes only approval, limits and tags of a built-in tool', async () => {
    const tool = await builtin('memory_rethink')
    const settings = {
      requiresApproval: true,
      approvalTimeoutMs: 1000,
      approvalCondition: { required: ['label'] },
      returnCharLimit: 100,
      timeoutMs: 100,
      tags: ['memory'],
    }
    expect(await updateTool({ id: tool.id, ...settings })).toMatchObject({ ...settings, kind: 'BUILTIN' })
    for (const foreign of [
      { description: 'x' },
      { parameters: { type: 'object' } },
      { parallel: true },
      { idempotent: false },
      { implementation: { client: true } },
    ]) {
      const error = await ground.refusal(update, { id: tool.id, ...foreign })
      expect(error).toMatchObject({ code: 'BAD_USER_INPUT', field: `input.${Object.keys(foreign)[0]}` })
    }
    const replacing = { name: 'memory_rethink', implementation: { client: true } }
    expect(await ground.refusal(upsert, replacing)).toMatchObject({ code: 'BAD_USER_INPUT', field: 'input.name' })
    expect(await ground.refusal(remove, { id: tool.id })).toMatchObject({ code: 'BAD_USER_INPUT', field: 'input.id' })
  })
})

describe('tools', () => {
  it('[TOL6] are listed by name and kind, page by page', async () => {
    for (const name of ['list_a', 'list_b', 'LIST_c']) await upsertTool({ name, implementation: { client: true } })
    const list = `query ($filter: ToolFilter, $last: Int) {
      tools(filter: $filter, last: $last) { nodes { name kind } pageInfo { hasPreviousPage } }
    }`
    const { tools } = await ground.run(list, { filter: { nameContains: 'list_' }, last: 2 })
    expect(tools).toEqual({
      nodes: [
        { name: 'list_b', kind: 'CLIENT' },
        { name: 'LIST_c', kind: 'CLIENT' },
      ],
      pageInfo: { hasPreviousPage: true },
    })
    const { tools: builtins } = await ground.run(list, { filter: { kinds: ['BUILTIN', 'MCP'] } })
    expect(builtins.nodes.map((tool: any) => tool.name)).toEqual(builtinTools.map((tool) => tool.name))
    expect((await ground.run(list, { filter: { kinds: [] } })).tools.nodes).toEqual([])
    const named = async (filter: object) =>
      (await ground.run(list, { filter })).tools.nodes.map(({ name }: { name: string }) => name)
    expect(await named({ names: ['list_b', 'memory_insert', 'List_a', 'list_'] })).toEqual(['memory_insert', 'list_b'])
    expect(await named({ names: ['list_b', 'memory_insert'], kinds: ['CLIENT'] })).toEqual(['list_b'])
    expect(await named({ names: ['list_b\u0000', '\ud800'] })).toEqual([])
    expect(await named({ names: [] })).toEqual([])
    expect(await named({ names: null, nameContains: 'list_' })).toHaveLength(3)
  })

  it('[TOL6] are found by name in an index, however many there are', async () => {
    const { pool, viewer } = ground
    await pool.query(
      `insert into tools (id, tenant_id, name, description, kind, parameters, requires_approval, parallel, idempotent,
        return_char_limit, timeout_ms, tags, created_at, updated_at)
      select gen_random_uuid(), $1, 'many_' || n, '', 'CLIENT', '{}', false, false, false, 1, 1, '{}', now(), now()
      from generate_series(1, 5000) n`,
      [viewer.tenantId],
    )
    await pool.query('analyze tools')
    const statements: Statement[] = []
    const db = hookDatabase(pool, { before: (sql, parameters) => void statements.push({ sql, parameters }) })
    const names = Array.from({ length: 200 }, (_, index) => `many_${index * 20}`)
    const page = await listToolsPage(db, viewer, { names }, { first: 50 })
    await page.countAll()
    await lockToolsToAttach(
      db,
      viewer,
      names.map((toolName) => ({ toolName, toolId: null })),
    )
    expect(page.nodes).toHaveLength(50)
    expect(statements).toHaveLength(3)
    for (const statement of statements) {
      const { scanned, visited, plan } = await explain(pool, statement)
      expect({ scanned, visited: visited < 1_000 }, plan).toEqual({ scanned: [], visited: true })
    }
    await pool.query("delete from tools where name like 'many_%'")
  })

  it('[TOL9] may be named instead of given by id, and one that is given by both is attached once', async () => {
    const make = async (name: string) => (await upsertTool({ name, implementation: { client: true } })).id
    const [a, b] = [await make('by_name_a'), await make('by_name_b')]
    const create = 'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }'
    const upsertAgent = `mutation ($input: UpsertAgentInput!) { upsertAgent(input: $input) { ${agentTools} } }`
    const updateAgent = `mutation ($input: UpdateAgentInput!) { updateAgent(input: $input) { ${agentTools} } }`
    const attach = `mutation ($input: AttachToolInput!) { attachTool(input: $input) { ${agentTools} } }`
    const of = async (document: string, input: object): Promise<unknown[]> => {
      const [payload] = Object.values<any>(await ground.run(document, { input }))
      return payload.agent.tools.map(({ tool, approvalOverride }: any) => [tool.name, approvalOverride])
    }
    const plain = { name: 'x', model: 'demo/scripted', includeBaseTools: false }

    const id = await createAgent({ tools: [{ toolName: 'by_name_b', approvalOverride: true }, { toolId: a }] })
    expect(await of(updateAgent, { id })).toEqual([
      ['by_name_b', true],
      ['by_name_a', null],
    ])
    const twice = [{ toolId: a }, { toolId: b }, { toolName: 'by_name_a', approvalOverride: false }]
    const expected = [
      ['by_name_a', false],
      ['by_name_b', null],
    ]
    for (const tools of [twice, twice.toReversed()]) {
      expect(await of(updateAgent, { id, tools })).toEqual(expected)
      expect(await of(upsertAgent, { key: 'by name', agent: { ...plain, tools } })).toEqual(expected)
    }
    const base = { ...plain, includeBaseTools: true, tools: [{ toolName: 'memory_insert', approvalOverride: true }] }
    const withBase = await of(upsertAgent, { key: 'by name', agent: base })
    expect(withBase.filter(([name]: any) => name === 'memory_insert')).toEqual([['memory_insert', true]])

    expect(await of(attach, { agentId: id, toolName: 'memory_insert' })).toContainEqual(['memory_insert', null])
    const both = { agentId: id, toolName: 'memory_insert', approvalOverride: true }
    expect(await of(attach, both)).toContainEqual(['memory_insert', true])

    for (const toolName of ['by_name_c', 'by_name_a\u0000', 'BY_NAME_A', '']) {
      const missing = { code: 'NOT_FOUND', message: `There is no tool named ${JSON.stringify(toolName)}.` }
      expect(await ground.refusal(create, { ...plain, tools: [{ toolName }] })).toMatchObject(missing)
      expect(await ground.refusal(updateAgent, { id, tools: [{ toolId: a }, { toolName }] })).toMatchObject(missing)
      expect(await ground.refusal(attach, { agentId: id, toolName })).toMatchObject(missing)
    }
    const refused = (tools: object[]) => ground.refusal(updateAgent, { id, tools })
    const bad = { code: 'BAD_USER_INPUT' }
    for (const input of [{}, { toolId: a, toolName: 'by_name_a' }, { toolId: null, toolName: null }]) {
      expect(await refused([{ toolId: b }, input])).toMatchObject({ ...bad, field: 'input.tools.1' })
      expect(await ground.refusal(attach, { agentId: id, ...input })).toMatchObject({ ...bad, field: 'input' })
    }
    for (const tool of [{ toolName: 'by_name_a' }, { toolId: a }])
      expect(await refused([tool, tool])).toMatchObject({ ...bad, field: 'input.tools.1' })
    const opposed = [
      { toolId: a, approvalOverride: true },
      { toolName: 'by_name_a', approvalOverride: false },
    ]
    expect(await refused(opposed)).toMatchObject({ ...bad, field: 'input.tools.1.approvalOverride' })
    // Another tenant's tools have names of their own.
    const { errors } = await ground.execute(
      create,
      { input: { ...plain, tools: [{ toolName: 'by_name_a' }] } },
      ground.stranger,
    )
    expect(errors).toMatchObject([{ code: 'NOT_FOUND' }])
  })

  it('[TOL7] are attached, detached and set to need approval by one agent, any number of times', async () => {
    const tool = await upsertTool({ name: 'wipe', requiresApproval: true, implementation: { client: true } })
    const agentId = await createAgent()
    const attach = `mutation ($input: AttachToolInput!) { attachTool(input: $input) { ${agentTools} } }`
    const detach = `mutation ($input: DetachToolInput!) { detachTool(input: $input) { ${agentTools} } }`
    const set = `mutation ($input: SetToolApprovalInput!) { setToolApproval(input: $input) { ${agentTools} } }`
    const both = { agentId, toolId: tool.id }
    const of = async (document: string, input: Record<string, unknown>) =>
      (Object.values(await ground.run(document, { input }))[0] as any).agent.tools

    const wipe = (requiresApproval: boolean, approvalOverride: boolean | null) => [
      { tool: { name: 'wipe' }, requiresApproval, approvalOverride },
    ]
    expect(await of(attach, both)).toEqual(wipe(true, null))
    expect(await of(attach, { ...both, approvalOverride: false })).toEqual(wipe(false, false))
    expect(await of(attach, both)).toEqual(wipe(false, false))
    expect(await of(set, { ...both, requiresApproval: true })).toEqual(wipe(true, true))
    expect(await of(set, { ...both, requiresApproval: null })).toEqual(wipe(true, null))
    expect(await of(set, { ...both, requiresApproval: false })).toEqual(wipe(false, false))
    await ground.run('mutation ($input: UpdateAgentInput!) { updateAgent(input: $input) { agent { id } } }', {
      input: { id: agentId, toolRules: [{ kind: 'REQUIRES_APPROVAL', tool: 'wipe' }] },
    })
    expect(await of(attach, both)).toEqual(wipe(true, false))
    await ground.run('mutation ($input: UpdateAgentInput!) { updateAgent(input: $input) { agent { id } } }', {
      input: { id: agentId, toolRules: [] },
    })
    expect(await of(detach, both)).toEqual([])
    expect(await of(detach, both)).toEqual([])
    expect(await ground.refusal(set, { ...both, requiresApproval: true })).toMatchObject({ code: 'NOT_FOUND' })

    await of(attach, both)
    expect(await ground.run(remove, { input: { id: tool.id } })).toEqual({ deleteTool: { deletedId: tool.id } })
    const { agent } = await ground.run('query ($id: ID!) { agent(id: $id) { tools { id } } }', { id: agentId })
    expect(agent.tools).toEqual([])
    expect(await ground.refusal(attach, both)).toMatchObject({ code: 'NOT_FOUND' })
    expect(await ground.refusal(attach, { ...both, agentId: tool.id })).toMatchObject({ code: 'NOT_FOUND' })
  })

  it('[TOL8] that are built in follow the code at the next start, and keep what clients set on them', async () => {
    const { clock, ids } = ground.context
    const { tenantId } = ground.viewer
    const before = await builtin('memory_insert')
    await updateTool({ id: before.id, requiresApproval: true })
    const own = await upsertTool({ name: 'registered_later', implementation: { client: true } })
    const stored = await builtin('memory_insert')

    await upsertBuiltinTools(ground.db, tenantId, builtinTools, { clock, ids })
    expect(await builtin('memory_insert')).toEqual(stored)

    const [definition] = builtinTools
    const changed = [
      { ...definition!, description: 'new words' },
      { ...definition!, name: 'registered_later' },
    ]
    await upsertBuiltinTools(ground.db, tenantId, changed, { clock, ids })
    expect(await builtin('memory_insert')).toMatchObject({
      id: before.id,
      description: 'new words',
      requiresApproval: true,
    })
    const { tool } = await ground.run('query ($id: ID!) { tool(id: $id) { kind } }', { id: own.id })
    expect(tool.kind).toBe('CLIENT')
  })
})
