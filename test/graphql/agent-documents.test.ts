import { afterAll, describe, expect, it } from 'vitest'

import { openActor } from '../../src/domain/access/actor.ts'
import { createGround } from '../support/execute.ts'

const ground = await createGround()
afterAll(() => ground.close())

const fields = `id key name description instructions model tags metadata timezone export
  modelSettings { temperature parallelToolCalls } compaction { mode keepRatio } toolRules { kind tool maxCalls }
  blocks { id label value description charLimit readOnly version } mainConversation { id }
  tools { id approvalOverride tool { id name kind } }`
const create = `mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { ${fields} } } }`
const upsert = `mutation ($input: UpsertAgentInput!) { upsertAgent(input: $input) { agent { ${fields} } } }`
const importing = `mutation ($input: ImportAgentInput!) { importAgent(input: $input) { agent { ${fields} } } }`
const upsertTool = `mutation ($input: UpsertToolInput!) { upsertTool(input: $input) { tool { id name headerNames } } }`

const http = { http: { url: 'https://example.com/pay', headers: { Authorization: 'Bearer hush' } } }
const pay = {
  name: 'pay',
  description: 'Pays.',
  approvalCondition: { properties: { sum: { minimum: 100 } } },
  timeoutMs: 5_000,
  tags: ['money'],
  implementation: http,
}

async function createAgent() {
  const tool = (await ground.run(upsertTool, { input: pay })).upsertTool.tool
  const input = {
    name: 'Ada',
    description: 'helps',
    instructions: 'Be kind.',
    model: 'demo/scripted',
    modelSettings: { temperature: 0.5, parallelToolCalls: false },
    compaction: { mode: 'ALL' },
    tags: ['desk'],
    metadata: { team: 1 },
    timezone: 'Europe/Berlin',
    tools: [{ toolId: tool.id, approvalOverride: true }],
    toolRules: [{ kind: 'MAX_CALLS', tool: 'pay', maxCalls: 2 }],
    blocks: [{ label: 'human', value: 'Bo', description: 'the user', charLimit: 100, readOnly: true }],
  }
  return (await ground.run(create, { input })).createAgent.agent
}

/** What must be equal in a copy: everything except identities. */
function contentsOf({ id: _id, key: _key, mainConversation: _main, blocks, tools, ...agent }: any) {
  return {
    ...agent,
    blocks: blocks.map(({ id: _block, ...block }: any) => block),
    tools: tools.map(({ approvalOverride, tool }: any) => [approvalOverride, tool.name, tool.kind]),
  }
}

describe('Agent.export and importAgent', () => {
  it('[DOC1] an exported agent is imported as it was, and its tools of the same name are used unchanged', async () => {
    const agent = await createAgent()
    const { importAgent } = await ground.run(importing, { input: { document: agent.export } })
    const copy = importAgent.agent
    expect(contentsOf(copy)).toEqual(contentsOf(agent))
    expect(copy.id).not.toBe(agent.id)
    expect(copy.key).toBeNull()
    expect(copy.tools.map(({ tool }: any) => tool.id)).toEqual(agent.tools.map(({ tool }: any) => tool.id))
    expect(copy.blocks[0].id).not.toBe(agent.blocks[0].id)
  })

  it('[DOC2] a document has a version and no secrets, and creates the tools that another tenant lacks', async () => {
    const agent = await createAgent()
    expect(JSON.stringify(agent.export)).not.toContain('hush')
    expect(agent.export).toMatchObject({ version: 1, agent: { name: 'Ada' } })
    const { importAgent } = await ground.run(importing, { input: { document: agent.export } }, ground.stranger)
    expect(contentsOf(importAgent.agent)).toMatchObject({
      ...contentsOf(agent),
      // Headers are secrets, so there are none yet.
      export: { ...agent.export, tools: expect.arrayContaining([expect.objectContaining({ headerNames: [] })]) },
    })
    const { tools } = await ground.run(
      '{ tools(filter: { nameContains: "pay" }) { nodes { headerNames url timeoutMs tags approvalCondition } } }',
      {},
      ground.stranger,
    )
    const { timeoutMs, tags, approvalCondition } = pay
    expect(tools.nodes).toEqual([{ headerNames: [], url: http.http.url, timeoutMs, tags, approvalCondition }])
  })

  it('[DOC3] a document that cannot be read is refused with the place of the fault, and nothing is created', async () => {
    const { export: document } = await createAgent()
    const count = async () => (await ground.run('{ agents { totalCount } tools { nodes { id } } }')) as object
    const before = await count()
    const tool = (definition: unknown, name = 'other') => ({ ...document, tools: [{ name, definition }] })
    const other = { name: 'other', implementation: { client: true } }
    const cases: [document: unknown, field: string][] = [
      ['text', 'input.document'],
      [{ ...document, version: 2 }, 'input.document.version'],
      [{ ...document, agent: [] }, 'input.document.agent'],
      [{ ...document, agent: { ...document.agent, name: 5 } }, 'input.document.agent.name'],
      [{ ...document, agent: { ...document.agent, name: ' ' } }, 'input.document.agent.name'],
      [{ ...document, agent: { ...document.agent, model: 'no/such' } }, 'input.document.agent.model'],
      [
        { ...document, agent: { ...document.agent, compaction: { mode: 'X' } } },
        'input.document.agent.compaction.mode',
      ],
      [{ ...document, tools: {} }, 'input.document.tools'],
      [{ ...document, tools: [{}] }, 'input.document.tools.0'],
      // It would turn the approval off without a word.
      [{ ...document, tools: [{ name: 'pay', approvalOveride: true }] }, 'input.document.tools.0'],
      [tool(undefined, 'unheard_of'), 'input.document.tools.0.name'],
      [tool({ ...other, timeoutMs: 'soon' }), 'input.document.tools.0.definition.timeoutMs'],
      [tool({ ...other, timeoutMs: 0 }), 'input.document.tools.0.timeoutMs'],
      [tool({ ...other, extra: 1 }), 'input.document.tools.0.definition'],
      // The tool would be created, but the rules name one that the agent would not have.
      [tool(other), 'input.document.agent.toolRules.0.tool'],
    ]
    for (const [given, field] of cases) {
      const { errors } = await ground.execute(importing, { input: { document: given } })
      expect(errors, JSON.stringify(given)).toHaveLength(1)
      expect(errors, JSON.stringify(given)).toMatchObject([{ code: 'BAD_USER_INPUT', field }])
    }
    const two = tool({ ...other, approvalsRequired: 2 })
    const { errors } = await ground.execute(
      importing,
      { input: { document: two } },
      { ...ground.viewer, actor: openActor },
    )
    expect(errors).toMatchObject([{ code: 'BAD_USER_INPUT', field: 'input.document.tools.0.approvalsRequired' }])
    expect(await count()).toEqual(before)
  })
})

describe('upsertAgent', () => {
  const base = { name: 'Bot', model: 'demo/scripted', includeBaseTools: false }
  const upserted = async (key: string, agent: object) =>
    (await ground.run(upsert, { input: { key, agent: { ...base, ...agent } } })).upsertAgent.agent

  it('[UPS1] creates the agent once, even if it is called repeatedly and simultaneously', async () => {
    const agents = await Promise.all([1, 2, 3, 4].map(() => upserted('once', { blocks: [{ label: 'a', value: '1' }] })))
    expect(new Set(agents.map((agent) => agent.id)).size).toBe(1)
    const { agents: found } = await ground.run(
      '{ agents(filter: { key: "once" }) { totalCount nodes { key blocks { label } } } }',
    )
    expect(found).toEqual({ totalCount: 1, nodes: [{ key: 'once', blocks: [{ label: 'a' }] }] })
    // Another tenant has its own keys.
    const input = { key: 'once', agent: base }
    const { upsertAgent } = await ground.run(upsert, { input }, ground.stranger)
    expect(upsertAgent.agent.id).not.toBe(agents[0].id)
  })

  it('[UPS2] replaces settings, rules and tools, and keeps conversations and blocks', async () => {
    const tool = (await ground.run(upsertTool, { input: pay })).upsertTool.tool
    const first = await upserted('desk', {
      instructions: 'one',
      tags: ['x'],
      tools: [{ toolId: tool.id }],
      toolRules: [{ kind: 'REQUIRES_APPROVAL', tool: 'pay' }],
      blocks: [{ label: 'human', value: 'unknown' }],
    })
    await ground.run('mutation ($id: ID!) { updateBlock(input: { id: $id, value: "Bo" }) { __typename } }', {
      id: first.blocks[0].id,
    })
    const second = await upserted('desk', {
      instructions: 'two',
      blocks: [
        { label: 'human', value: 'unknown' },
        { label: 'style', value: 'short' },
      ],
    })
    expect(second).toMatchObject({
      id: first.id,
      key: 'desk',
      instructions: 'two',
      tags: [],
      tools: [],
      toolRules: [],
      mainConversation: first.mainConversation,
      blocks: [
        { id: first.blocks[0].id, value: 'Bo' },
        { label: 'style', value: 'short' },
      ],
    })
    const again = await upserted('desk', { tools: [{ toolId: tool.id, approvalOverride: true }] })
    expect(again.tools).toMatchObject([{ approvalOverride: true, tool: { name: 'pay' } }])
    expect(again.blocks).toHaveLength(2)
  })

  it('[UPS3] a bad value is named by its path, and nothing is changed', async () => {
    const before = await upserted('kept', { instructions: 'one' })
    const cases: [input: object, field: string][] = [
      [{ key: '', agent: base }, 'input.key'],
      [{ key: 'kept', agent: { ...base, name: ' ' } }, 'input.agent.name'],
      [
        { key: 'kept', agent: { ...base, toolRules: [{ kind: 'TERMINAL', tool: 'x' }] } },
        'input.agent.toolRules.0.tool',
      ],
    ]
    for (const [input, field] of cases) {
      expect((await ground.execute(upsert, { input })).errors).toMatchObject([{ code: 'BAD_USER_INPUT', field }])
    }
    const { agents } = await ground.run(`{ agents(filter: { key: "kept" }) { nodes { ${fields} } } }`)
    expect(agents.nodes).toEqual([before])
  })
})
