import { afterAll, describe, expect, it } from 'vitest'

import { createGround } from '../support/execute.ts'

const ground = await createGround()
afterAll(() => ground.close())

async function createAgent(name: string, viewer = ground.viewer) {
  const data = await ground.run(
    `mutation ($input: CreateAgentInput!) {
      createAgent(input: $input) {
        agent { id name tools { id tool { id } } blocks { id } mainConversation { id } }
      }
    }`,
    {
      input: {
        name,
        model: 'demo/scripted',
        blocks: [
          { label: 'one', value: '' },
          { label: 'two', value: '' },
        ],
      },
    },
    viewer,
  )
  return data.createAgent.agent
}

const everyId = (agent: any): string[] => [
  agent.id,
  agent.tools[0].id,
  agent.tools[0].tool.id,
  agent.blocks[0].id,
  agent.mainConversation.id,
]

describe('node and nodes', () => {
  it('[NOD1] find everything that has an id, in order, with null for unknown ids, at most 100', async () => {
    const agent = await createAgent('found')
    const ids = everyId(agent)
    const nodes = 'query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id ... on Agent { name } } }'
    const asked = [...ids, 'nonsense', `agent_${'0'.repeat(32)}`, `step_${'0'.repeat(32)}_0`, agent.id]
    const { nodes: found } = await ground.run(nodes, { ids: asked })
    expect(found.map((node: any) => node?.__typename ?? null)).toEqual([
      'Agent',
      'AgentTool',
      'Tool',
      'Block',
      'Conversation',
      null,
      null,
      null,
      'Agent',
    ])
    expect(found.slice(0, 5).map((node: any) => node.id)).toEqual(ids)
    expect(found[0].name).toBe('found')
    for (const [index, id] of asked.entries())
      expect((await ground.run('query ($id: ID!) { node(id: $id) { id } }', { id })).node?.id ?? null).toBe(
        found[index]?.id ?? null,
      )

    const many = Array.from({ length: 100 }, () => agent.id)
    const { data, statements } = await ground.execute(nodes, { ids: many })
    expect([data.nodes.length, statements]).toEqual([100, 1])
    expect((await ground.execute(nodes, { ids: [...many, agent.id] })).errors).toMatchObject([
      { code: 'BAD_USER_INPUT', field: 'ids', message: expect.stringContaining('100') },
    ])
  })
})

describe('loading', () => {
  it('[LOD1] a list of 50 agents with everything attached costs as many statements as a list of one', async () => {
    for (let index = 0; index < 50; index += 1) await createAgent(`many ${index}`)
    const list = `query ($first: Int!) {
      agents(first: $first, filter: { nameContains: "many" }) {
        totalCount
        nodes {
          id
          tools { id requiresApproval tool { id name } }
          blocks { id label agents { id name } }
          mainConversation { id agent { id } }
        }
      }
    }`
    const one = await ground.execute(list, { first: 1 })
    const fifty = await ground.execute(list, { first: 50 })
    expect([one.errors, fifty.errors]).toEqual([[], []])
    expect(fifty.data.agents.nodes).toHaveLength(50)
    expect(fifty.data.agents.nodes[49].tools).toHaveLength(5)
    expect(fifty.data.agents.nodes[49].blocks).toHaveLength(2)
    expect(fifty.statements).toBe(one.statements)
    expect(fifty.statements).toBeLessThanOrEqual(8)
  })

  it('[LOD2] a mutation’s answer, and what follows it in the document, shows what it changed', async () => {
    const agent = await createAgent('changing')
    const data = await ground.run(
      `mutation ($id: ID!, $tool: ID!, $block: ID!) {
        before: updateAgent(input: { id: $id, name: "one" }) { agent { name tools { id } blocks { label agents { name } } } }
        detach: detachTool(input: { agentId: $id, toolId: $tool }) { agent { tools { id } } }
        label: updateBlock(input: { id: $block, label: "three" }) { ... on UpdateBlockSuccess { block { agents { name } } } }
        after: updateAgent(input: { id: $id, name: "two" }) { agent { name tools { id } blocks { label agents { name } } } }
      }`,
      { id: agent.id, tool: agent.tools[0].tool.id, block: agent.blocks[0].id },
    )
    expect(data.before.agent.tools).toHaveLength(5)
    expect(data.detach.agent.tools).toHaveLength(4)
    expect(data.label.block.agents).toEqual([{ name: 'one' }])
    expect(data.after.agent.tools).toHaveLength(4)
    expect(data.after.agent.blocks).toEqual([
      { label: 'three', agents: [{ name: 'two' }] },
      { label: 'two', agents: [{ name: 'two' }] },
    ])
  })
})

describe('another tenant', () => {
  it('[TEN1] finds nothing of ours, whether it reads, lists, changes, attaches or deletes', async () => {
    const agent = await createAgent('ours')
    const [agentId, agentToolId, toolId, blockId, conversationId] = everyId(agent)
    const theirs = await createAgent('theirs', ground.stranger)
    const stranger = ground.stranger

    const read = await ground.run(
      `query ($agentId: ID!, $toolId: ID!, $blockId: ID!, $conversationId: ID!, $ids: [ID!]!) {
        agent(id: $agentId) { id } tool(id: $toolId) { id } block(id: $blockId) { id }
        conversation(id: $conversationId) { id } nodes(ids: $ids) { id }
        agents { totalCount nodes { name } } tools { nodes { id } } blocks { nodes { id } }
      }`,
      { agentId, toolId, blockId, conversationId, ids: [agentId, agentToolId, toolId, blockId, conversationId] },
      stranger,
    )
    expect(read).toMatchObject({ agent: null, tool: null, block: null, conversation: null })
    expect(read.nodes).toEqual([null, null, null, null, null])
    expect(read.agents).toEqual({ totalCount: 1, nodes: [{ name: 'theirs' }] })
    expect(read.tools.nodes.map((tool: any) => tool.id)).not.toContain(toolId)
    expect(read.tools.nodes).toHaveLength(7)
    expect(read.blocks.nodes).toHaveLength(2)

    const mutations: [name: string, input: Record<string, unknown>, selection: string][] = [
      ['updateAgent', { id: agentId, name: 'x' }, 'agent { id }'],
      ['deleteAgent', { id: agentId }, 'deletedId'],
      ['createAgent', { name: 'x', model: 'demo/scripted', tools: [{ toolId }] }, 'agent { id }'],
      ['createAgent', { name: 'x', model: 'demo/scripted', blockIds: [blockId] }, 'agent { id }'],
      ['updateAgent', { id: theirs.id, tools: [{ toolId }] }, 'agent { id }'],
      ['updateAgent', { id: theirs.id, blockIds: [blockId] }, 'agent { id }'],
      ['createConversation', { agentId }, 'conversation { id }'],
      ['updateConversation', { id: conversationId, title: 'x' }, 'conversation { id }'],
      ['deleteConversation', { id: conversationId }, 'deletedId'],
      ['updateTool', { id: toolId, tags: [] }, 'tool { id }'],
      ['deleteTool', { id: toolId }, 'deletedId'],
      ['attachTool', { agentId: theirs.id, toolId }, 'agent { id }'],
      ['attachTool', { agentId, toolId: theirs.tools[0].tool.id }, 'agent { id }'],
      ['detachTool', { agentId, toolId }, 'agent { id }'],
      ['setToolApproval', { agentId, toolId, requiresApproval: true }, 'agent { id }'],
      ['updateBlock', { id: blockId, value: 'x' }, '__typename'],
      ['deleteBlock', { id: blockId }, 'deletedId'],
      ['attachBlock', { agentId: theirs.id, blockId }, 'agent { id }'],
      ['attachBlock', { agentId, blockId: theirs.blocks[0].id }, 'agent { id }'],
      ['detachBlock', { agentId, blockId }, 'agent { id }'],
    ]
    for (const [name, input, selection] of mutations) {
      const type = `${name.charAt(0).toUpperCase()}${name.slice(1)}Input`
      const document = `mutation ($input: ${type}!) { ${name}(input: $input) { ${selection} } }`
      expect(await ground.refusal(document, input, stranger), name).toMatchObject({ code: 'NOT_FOUND' })
    }
    const { agent: after } = await ground.run(
      'query ($id: ID!) { agent(id: $id) { id name tools { id tool { id } } blocks { id } mainConversation { id } } }',
      { id: agentId },
    )
    expect(after).toEqual(agent)
  })

  it('[TEN1] may have a tool of the same name', async () => {
    const upsert = 'mutation ($input: UpsertToolInput!) { upsertTool(input: $input) { tool { id } } }'
    const input = { name: 'same', implementation: { client: true } }
    const ours = await ground.run(upsert, { input })
    const theirs = await ground.run(upsert, { input }, ground.stranger)
    expect(ours.upsertTool.tool.id).not.toBe(theirs.upsertTool.tool.id)
  })
})

describe('viewer and models', () => {
  it('[VIW1] show who is asking, and which models the server can reach', async () => {
    const data = await ground.run(
      '{ viewer { tenantId actor { kind id name } keyName scopes } models { handle provider contextWindow } }',
    )
    expect(data).toEqual({
      viewer: {
        tenantId: `tenant_${ground.viewer.tenantId.replaceAll('-', '')}`,
        actor: { kind: 'KEY', id: 'default', name: 'default' },
        keyName: 'default',
        scopes: ['READ', 'RUN', 'APPROVE', 'MANAGE'],
      },
      models: [
        { handle: 'demo/scripted', provider: 'demo', contextWindow: 32_000 },
        { handle: 'demo/other', provider: 'demo', contextWindow: 8_000 },
      ],
    })
  })
})
