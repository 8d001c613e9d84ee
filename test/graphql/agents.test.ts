import { afterAll, describe, expect, it } from 'vitest'

import { createGround, type Ground } from '../support/execute.ts'

const ground = await createGround()
afterAll(() => ground.close())

const fields = `
  id name description instructions model tags metadata timezone createdAt updatedAt
  modelSettings { temperature maxOutputTokens contextWindow parallelToolCalls reasoningEffort reasoningBudget responseSchema }
  compaction { mode model prompt keepRatio }
  tools { id tool { id name } requiresApproval approvalOverride }
  toolRules { kind tool children maxCalls outputMapping defaultChild requireMapping prefilledArguments }
  blocks { id label value version }
  mainConversation { id title agent { id } }
`
const create = `mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { ${fields} } } }`
const update = `mutation ($input: UpdateAgentInput!) { updateAgent(input: $input) { agent { ${fields} } } }`

async function createAgent(input: Record<string, unknown> = {}) {
  const data = await ground.run(create, { input: { name: 'an agent', model: 'demo/scripted', ...input } })
  return data.createAgent.agent
}
async function updateAgent(input: Record<string, unknown>) {
  return (await ground.run(update, { input })).updateAgent.agent
}
const refused: Ground['refusal'] = (document, input) => ground.refusal(document, input)
let toolCount = 0
async function createTool(input: Record<string, unknown> = {}) {
  const data = await ground.run(
    'mutation ($input: UpsertToolInput!) { upsertTool(input: $input) { tool { id name } } }',
    { input: { name: `tool_${toolCount++}`, implementation: { client: true }, ...input } },
  )
  return data.upsertTool.tool as { id: string; name: string }
}
async function createBlock(label: string) {
  const data = await ground.run(
    'mutation ($input: CreateBlockInput!) { createBlock(input: $input) { block { id label } } }',
    { input: { label, value: 'shared' } },
  )
  return data.createBlock.block as { id: string }
}

describe('createAgent', () => {
  it('[AGT1] creates an agent with defaults, its main conversation and the memory tools', async () => {
    const agent = await createAgent({ name: '  Ada  ' })
    expect(agent).toMatchObject({
      id: expect.stringMatching(/^agent_[0-9a-f]{32}$/),
      name: 'Ada',
      description: null,
      instructions: '',
      model: 'demo/scripted',
      tags: [],
      metadata: {},
      timezone: 'UTC',
      modelSettings: {
        temperature: null,
        maxOutputTokens: null,
        contextWindow: null,
        parallelToolCalls: true,
        reasoningEffort: null,
        reasoningBudget: null,
        responseSchema: null,
      },
      compaction: { mode: 'SLIDING_WINDOW', model: null, prompt: null, keepRatio: 0.7 },
      toolRules: [],
      blocks: [],
      mainConversation: { id: expect.stringMatching(/^conv_/), title: null, agent: { id: agent.id } },
    })
    expect(agent.tools.map((entry: any) => entry.tool.name)).toEqual([
      'memory_insert',
      'memory_replace',
      'conversation_search',
      'archival_memory_insert',
      'archival_memory_search',
    ])
    expect((await createAgent({ includeBaseTools: false })).tools).toEqual([])
    const { agent: found } = await ground.run(`query ($id: ID!) { agent(id: $id) { ${fields} } }`, { id: agent.id })
    expect(found).toEqual(agent)
  })

  it('[AGT2] creates blocks, attaches existing blocks and tools, and keeps their order', async () => {
    const shared = await createBlock('shared')
    const [one, two] = [await createTool(), await createTool({ requiresApproval: true })]
    const agent = await createAgent({
      blocks: [{ label: 'persona', value: 'kind' }],
      blockIds: [shared.id],
      tools: [{ toolId: two.id }, { toolId: one.id, approvalOverride: true }],
      toolRules: [
        { kind: 'TERMINAL', tool: one.name },
        { kind: 'CONDITIONAL', tool: two.name, outputMapping: { yes: one.name } },
      ],
      includeBaseTools: false,
    })
    expect(agent.blocks.map((block: any) => block.label)).toEqual(['persona', 'shared'])
    expect(agent.tools).toMatchObject([
      { tool: { id: two.id }, requiresApproval: true, approvalOverride: null },
      { tool: { id: one.id }, requiresApproval: true, approvalOverride: true },
    ])
    expect(agent.toolRules[1]).toEqual({
      kind: 'CONDITIONAL',
      tool: two.name,
      children: null,
      maxCalls: null,
      outputMapping: { yes: one.name },
      defaultChild: null,
      requireMapping: false,
      prefilledArguments: null,
    })
  })

  it('[AGT3] a base tool that is also named is attached once, with the settings it is named with', async () => {
    const { tools } = await ground.run('{ tools(filter: { nameContains: "memory_insert" }) { nodes { id } } }')
    const agent = await createAgent({ tools: [{ toolId: tools.nodes[0].id, approvalOverride: true }] })
    expect(agent.tools.map((entry: any) => [entry.tool.name, entry.approvalOverride])).toEqual([
      ['memory_replace', null],
      ['conversation_search', null],
      ['archival_memory_insert', null],
      ['archival_memory_search', null],
      ['memory_insert', true],
    ])
  })

  it('[AGT4] a bad value gets BAD_USER_INPUT with the path of the field, what is wrong and what is expected', async () => {
    const tool = await createTool()
    const cases: [input: Record<string, unknown>, field: string, message: RegExp][] = [
      [{ name: ' \n ' }, 'input.name', /empty.*1 to 200/],
      [{ name: 'x'.repeat(201) }, 'input.name', /201 characters.*200/],
      [{ instructions: 'x'.repeat(200_001) }, 'input.instructions', /200001 characters.*200000/],
      [{ model: 'demo/none' }, 'input.model', /"demo\/none".*demo\/scripted, demo\/other/],
      [{ modelSettings: { temperature: 2.5 } }, 'input.modelSettings.temperature', /2.5.*0 to 2/],
      [{ modelSettings: { maxOutputTokens: 0 } }, 'input.modelSettings.maxOutputTokens', /0 is out of range/],
      [{ modelSettings: { responseSchema: [] } }, 'input.modelSettings.responseSchema', /a list.*JSON object/],
      [
        { modelSettings: { responseSchema: { properties: { a: { type: 'text' } } } } },
        'input.modelSettings.responseSchema',
        /\/properties\/a\/type/,
      ],
      [{ compaction: { keepRatio: 1.1 } }, 'input.compaction.keepRatio', /1.1.*0 to 1/],
      [{ compaction: { model: 'nope' } }, 'input.compaction.model', /"nope"/],
      [{ tags: ['a', 'b', 'a'] }, 'input.tags.2', /"a" is given twice/],
      [{ tags: ['x'.repeat(65)] }, 'input.tags.0', /65 characters/],
      [{ tags: Array.from({ length: 51 }, (_, index) => `t${index}`) }, 'input.tags', /51 entries.*50/],
      [{ metadata: [1] }, 'input.metadata', /a list.*JSON object/],
      [{ metadata: 'text' }, 'input.metadata', /a string.*JSON object/],
      [{ metadata: { text: 'x'.repeat(70_000) } }, 'input.metadata', /bytes.*65536/],
      [{ timezone: 'Mars/Olympus' }, 'input.timezone', /"Mars\/Olympus".*Europe\/Berlin/],
      [{ tools: [{ toolId: tool.id }, { toolId: tool.id }] }, 'input.tools.1', /given twice/],
      [{ blocks: [{ label: 'a b', value: '' }] }, 'input.blocks.0.label', /"a b"/],
      [{ blocks: [{ label: 'a', value: 'abc', charLimit: 2 }] }, 'input.blocks.0.value', /3 characters.*2/],
      [
        {
          blocks: [
            { label: 'a', value: '' },
            { label: 'a', value: '' },
          ],
        },
        'input.blocks',
        /two blocks labelled "a"/,
      ],
      [
        { toolRules: [{ kind: 'TERMINAL', tool: 'none' }] },
        'input.toolRules.0.tool',
        /no tool named "none".*memory_insert/,
      ],
    ]
    for (const [input, field, message] of cases) {
      const error = await refused(create, { name: 'bad', model: 'demo/scripted', ...input })
      expect(error).toMatchObject({ code: 'BAD_USER_INPUT', field, message: expect.stringMatching(message) })
    }
    const { agents } = await ground.run('{ agents(filter: { nameContains: "bad" }) { totalCount } }')
    expect(agents.totalCount).toBe(0)
  })

  it('[AGT5] an unknown id is NOT_FOUND, and nothing is created', async () => {
    const nobody = `tool_${'0'.repeat(32)}`
    const cases: [Record<string, unknown>, string][] = [
      [{ tools: [{ toolId: nobody }] }, nobody],
      [{ tools: [{ toolId: 'nonsense' }] }, 'nonsense'],
      [{ blockIds: [`block_${'0'.repeat(32)}`] }, `block_${'0'.repeat(32)}`],
      [{ blockIds: [nobody] }, nobody],
    ]
    for (const [input, id] of cases) {
      const error = await refused(create, {
        name: 'ghost',
        model: 'demo/scripted',
        blocks: [{ label: 'ghost', value: '' }],
        ...input,
      })
      expect(error).toMatchObject({ code: 'NOT_FOUND', message: expect.stringContaining(id) })
    }
    const { agents, blocks } = await ground.run(
      '{ agents(filter: { nameContains: "ghost" }) { totalCount } blocks(filter: { label: "ghost" }) { nodes { id } } }',
    )
    expect([agents.totalCount, blocks.nodes]).toEqual([0, []])
  })

  it('[AGT6] characters that Postgres cannot store are removed from text', async () => {
    const agent = await createAgent({
      name: 'nul\u0000',
      instructions: 'half \ud83d',
      metadata: { 'a\u0000': ['\udc00'] },
      tags: ['t\u0000'],
    })
    expect(agent).toMatchObject({ name: 'nul', instructions: 'half \ufffd', metadata: { a: ['\ufffd'] }, tags: ['t'] })
  })
})

describe('tool rules', () => {
  it('[AGT7] have exactly the fields of their kind, and name only tools of the agent', async () => {
    const [one, two] = [await createTool(), await createTool()]
    const rule = (kind: string, rest: Record<string, unknown> = {}) => ({ kind, tool: one.name, ...rest })
    const good = [
      rule('RUN_FIRST', { prefilledArguments: { a: 1 } }),
      rule('CHILDREN', { children: [two.name] }),
      rule('PARENT', { children: [two.name] }),
      rule('CONDITIONAL', { outputMapping: { 1: two.name }, defaultChild: one.name, requireMapping: true }),
      rule('CONTINUE'),
      rule('TERMINAL'),
      rule('MAX_CALLS', { maxCalls: 1 }),
      rule('REQUIRED_BEFORE_EXIT'),
      rule('REQUIRES_APPROVAL'),
    ]
    const tools = [{ toolId: one.id }, { toolId: two.id }]
    expect((await createAgent({ tools, toolRules: good })).toolRules).toHaveLength(9)

    const bad: [Record<string, unknown>, string, RegExp][] = [
      [rule('TERMINAL', { maxCalls: 1 }), 'maxCalls', /TERMINAL has no such field/],
      [rule('MAX_CALLS'), 'maxCalls', /missing.*MAX_CALLS/],
      [rule('MAX_CALLS', { maxCalls: 0 }), 'maxCalls', /0 is too small/],
      [rule('CHILDREN'), 'children', /missing/],
      [rule('CHILDREN', { children: [] }), 'children', /empty/],
      [rule('CHILDREN', { children: [two.name, two.name] }), 'children', /twice/],
      [rule('CHILDREN', { children: [two.name, 'none'] }), 'children.1', /no tool named "none"/],
      [rule('CONDITIONAL', { outputMapping: {} }), 'outputMapping', /one entry/],
      [rule('CONDITIONAL', { outputMapping: { a: 1 } }), 'outputMapping', /name of a tool/],
      [rule('CONDITIONAL', { outputMapping: { a: 'none' } }), 'outputMapping', /no tool named "none"/],
      [rule('CONDITIONAL', { outputMapping: { a: two.name }, defaultChild: 'none' }), 'defaultChild', /"none"/],
      [rule('RUN_FIRST', { prefilledArguments: [1] }), 'prefilledArguments', /JSON object/],
      [rule('REQUIRES_APPROVAL', { prefilledArguments: {} }), 'prefilledArguments', /no such field/],
    ]
    for (const [toolRule, field, message] of bad) {
      const error = await refused(create, { name: 'x', model: 'demo/scripted', tools, toolRules: [good[4], toolRule] })
      expect(error).toMatchObject({
        code: 'BAD_USER_INPUT',
        field: `input.toolRules.1.${field}`,
        message: expect.stringMatching(message),
      })
    }
    const twice = { name: 'x', model: 'demo/scripted', tools, toolRules: [good[4], good[4]] }
    expect(await refused(create, twice)).toMatchObject({ field: 'input.toolRules.1' })
  })

  it('[AGT8] keep the tools that they name from being detached and deleted', async () => {
    const [one, two] = [await createTool(), await createTool()]
    const agent = await createAgent({
      tools: [{ toolId: one.id }, { toolId: two.id }],
      toolRules: [{ kind: 'CHILDREN', tool: one.name, children: [two.name] }],
    })
    const detach = 'mutation ($input: DetachToolInput!) { detachTool(input: $input) { agent { id } } }'
    const remove = 'mutation ($input: DeleteToolInput!) { deleteTool(input: $input) { deletedId } }'
    expect(await refused(detach, { agentId: agent.id, toolId: two.id })).toMatchObject({
      code: 'BAD_USER_INPUT',
      field: 'input.toolId',
    })
    expect(await refused(remove, { id: two.id })).toMatchObject({ code: 'BAD_USER_INPUT', field: 'input.id' })
    const without = await refused(update, { id: agent.id, tools: [{ toolId: one.id }] })
    expect(without).toMatchObject({ code: 'BAD_USER_INPUT', field: 'input.tools' })
    expect(without.message).toMatch(new RegExp(two.name))
    await updateAgent({ id: agent.id, tools: [{ toolId: one.id }], toolRules: null })
    await ground.run(remove, { input: { id: two.id } })
  })
})

describe('updateAgent', () => {
  it('[AGT9] keeps omitted values, also inside nested settings; null resets a value, and lists are replaced', async () => {
    const [one, two] = [await createTool(), await createTool()]
    const [blockOne, blockTwo] = [await createBlock('one'), await createBlock('two')]
    const agent = await createAgent({
      description: 'first',
      instructions: 'do',
      modelSettings: { temperature: 0.5, maxOutputTokens: 100, parallelToolCalls: false },
      compaction: { mode: 'ALL', prompt: 'short' },
      tags: ['a'],
      metadata: { a: 1 },
      timezone: 'Asia/Kolkata',
      tools: [{ toolId: one.id, approvalOverride: true }],
      blockIds: [blockOne.id],
      includeBaseTools: false,
    })
    expect(await updateAgent({ id: agent.id })).toEqual({ ...agent, updatedAt: expect.any(String) })

    const changed = await updateAgent({
      id: agent.id,
      name: 'renamed',
      modelSettings: { temperature: null, contextWindow: 4000 },
      compaction: { keepRatio: 0.2 },
      tags: ['b', 'c'],
      tools: [{ toolId: two.id }, { toolId: one.id }],
      blockIds: [blockTwo.id, blockOne.id],
    })
    expect(changed).toMatchObject({
      name: 'renamed',
      description: 'first',
      modelSettings: { temperature: null, maxOutputTokens: 100, contextWindow: 4000, parallelToolCalls: false },
      compaction: { mode: 'ALL', prompt: 'short', keepRatio: 0.2 },
      tags: ['b', 'c'],
      metadata: { a: 1 },
      timezone: 'Asia/Kolkata',
      tools: [
        { tool: { id: two.id }, approvalOverride: null },
        { id: agent.tools[0].id, tool: { id: one.id }, approvalOverride: null },
      ],
      blocks: [{ id: blockTwo.id }, { id: blockOne.id }],
      createdAt: agent.createdAt,
    })

    const cleared = await updateAgent({
      id: agent.id,
      description: null,
      instructions: null,
      modelSettings: null,
      compaction: { mode: null, prompt: null },
      tags: null,
      metadata: null,
      timezone: null,
      tools: null,
      blockIds: null,
    })
    expect(cleared).toMatchObject({
      name: 'renamed',
      description: null,
      instructions: '',
      modelSettings: { maxOutputTokens: null, contextWindow: null, parallelToolCalls: true },
      compaction: { mode: 'SLIDING_WINDOW', prompt: null, keepRatio: 0.2 },
      tags: [],
      metadata: {},
      timezone: 'UTC',
      tools: [],
      blocks: [],
    })
  })

  it('[AGT10] refuses null for a required value, and a refused update changes nothing', async () => {
    const agent = await createAgent()
    for (const field of ['name', 'model']) {
      const error = await refused(update, { id: agent.id, description: 'changed', [field]: null })
      expect(error).toMatchObject({ code: 'BAD_USER_INPUT', field: `input.${field}` })
    }
    expect((await updateAgent({ id: agent.id })).description).toBeNull()
    expect(await refused(update, { id: `agent_${'f'.repeat(32)}`, name: 'x' })).toMatchObject({ code: 'NOT_FOUND' })
  })
})

describe('agents', () => {
  it('[AGT11] are listed oldest first, page by page, by name and by tags, and counted', async () => {
    const made = []
    for (const name of ['List One', 'list two', 'LIST 100%', 'other'])
      made.push(await createAgent({ name, tags: [name, 'listed'] }))
    const list = `query ($first: Int, $after: String, $filter: AgentFilter) {
      agents(first: $first, after: $after, filter: $filter) {
        nodes { id } edges { cursor node { id } } totalCount
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
      }
    }`
    const filter = { tags: ['listed'] }
    const { agents: page } = await ground.run(list, { first: 3, filter })
    expect(page.nodes.map((node: any) => node.id)).toEqual(made.slice(0, 3).map((agent) => agent.id))
    expect(page.totalCount).toBe(4)
    expect(page.edges.map((edge: any) => edge.node)).toEqual(page.nodes)
    expect(page.pageInfo).toEqual({
      hasNextPage: true,
      hasPreviousPage: false,
      startCursor: page.edges[0].cursor,
      endCursor: page.edges[2].cursor,
    })
    const { agents: rest } = await ground.run(list, { first: 3, after: page.pageInfo.endCursor, filter })
    expect(rest.nodes).toEqual([{ id: made[3].id }])

    const count = async (some: Record<string, unknown>) => (await ground.run(list, { filter: some })).agents.totalCount
    expect(await count({ nameContains: 'list' })).toBe(3)
    expect(await count({ nameContains: '%' })).toBe(1)
    expect(await count({ nameContains: 'list\u0000', tags: ['listed\u0000'] })).toBe(3)
    expect(await count({ nameContains: 'LIST', tags: ['listed', 'list two'] })).toBe(1)
    const { agents: none } = await ground.run(list, { filter: { nameContains: 'nobody' } })
    expect(none).toEqual({
      nodes: [],
      edges: [],
      totalCount: 0,
      pageInfo: { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null },
    })
  })
})

describe('deleteAgent', () => {
  it('[AGT12] deletes its conversations, and keeps its blocks and tools', async () => {
    const tool = await createTool()
    const agent = await createAgent({ blocks: [{ label: 'kept', value: '' }], tools: [{ toolId: tool.id }] })
    const remove = 'mutation ($input: DeleteAgentInput!) { deleteAgent(input: $input) { deletedId } }'
    expect(await ground.run(remove, { input: { id: agent.id } })).toEqual({ deleteAgent: { deletedId: agent.id } })
    const left = await ground.run(
      `query ($agent: ID!, $conversation: ID!, $block: ID!, $tool: ID!) {
        agent(id: $agent) { id } conversation(id: $conversation) { id }
        block(id: $block) { label agents { id } } tool(id: $tool) { id }
      }`,
      { agent: agent.id, conversation: agent.mainConversation.id, block: agent.blocks[0].id, tool: tool.id },
    )
    expect(left).toEqual({
      agent: null,
      conversation: null,
      block: { label: 'kept', agents: [] },
      tool: { id: tool.id },
    })
    expect(await refused(remove, { id: agent.id })).toMatchObject({ code: 'NOT_FOUND' })
  })
})
