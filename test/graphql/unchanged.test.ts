import { afterAll, beforeAll, expect, it } from 'vitest'

import { schema } from '../../src/graphql/schema.ts'
import { createGround, type Ground } from '../support/execute.ts'

let ground: Ground
/** Every reading of the clock is later than the one before. */
let time = Date.now()

beforeAll(async () => {
  ground = await createGround()
  Object.assign(ground.context, { clock: { now: () => new Date((time += 1_000)) } })
})
afterAll(() => ground.close())

/** Runs a mutation with one input, and returns its payload. */
async function mutate(name: string, input: object, selection = '__typename'): Promise<any> {
  const type = schema.getMutationType()!.getFields()[name]!.args[0]!.type
  const document = `mutation ($input: ${String(type)}) { ${name}(input: $input) { ${selection} } }`
  return (await ground.run(document, { input }))[name]
}

/** The time of an object's last change, and how many changes of it were recorded. */
async function stateOf(id: string): Promise<{ readonly updatedAt: string; readonly recorded: number }> {
  const { node, auditLog } = await ground.run(
    `query ($id: ID!) {
      node(id: $id) { ... on Agent { updatedAt } ... on Tool { updatedAt } ... on Block { updatedAt } ... on Conversation { updatedAt } }
      auditLog(filter: { subjectId: $id }) { totalCount }
    }`,
    { id },
  )
  return { updatedAt: node.updatedAt, recorded: auditLog.totalCount }
}

const plain = { name: 'an agent', model: 'demo/scripted', includeBaseTools: false }
const http = (headers: object) => ({ http: { url: 'https://tools.example/', headers } })

/** An agent with a tool and a block, and one of each that it does not have. */
async function makeParts(key: string) {
  const tool = (name: string) => mutate('upsertTool', { name, implementation: http({ a: 'b' }) }, 'tool { id }')
  const block = (label: string) => mutate('createBlock', { label, value: 'first' }, 'block { id }')
  const [has, other] = [(await tool(`${key}_has`)).tool.id, (await tool(`${key}_other`)).tool.id]
  const [blockId, otherBlockId] = [(await block(`${key}_has`)).block.id, (await block(`${key}_other`)).block.id]
  const agent = { ...plain, tools: [{ toolId: has, approvalOverride: true }], blockIds: [blockId] }
  const made = await mutate('upsertAgent', { key, agent }, 'agent { id mainConversation { id } }')
  const { id, mainConversation } = made.agent
  return { id, agent, conversationId: mainConversation.id, has, other, blockId, otherBlockId }
}
type Parts = Awaited<ReturnType<typeof makeParts>>

interface Change {
  readonly subject: keyof Parts
  readonly given: (parts: Parts) => object
}
const ofAgent = (given: (parts: Parts) => object): Change => ({ subject: 'id', given })

/** Changes of each mutation. The second time, each is given what is already there. */
const changes: Record<string, readonly Change[]> = {
  updateAgent: [
    ofAgent(({ id }) => ({ id, name: 'renamed', description: 'd', metadata: { b: 1, a: [{ c: null }] } })),
    ofAgent(({ id }) => ({ id, modelSettings: { temperature: 0.5 }, compaction: { keepRatio: 0.5 }, tags: ['x'] })),
    ofAgent(({ id, has, other }) => ({ id, tools: [{ toolId: other }, { toolId: has, approvalOverride: false }] })),
    ofAgent(({ id, blockId, otherBlockId }) => ({ id, blockIds: [otherBlockId, blockId] })),
  ],
  upsertAgent: [
    ofAgent(({ agent }) => ({ key: 'upsertAgent', agent: { ...agent, instructions: 'Be brief.' } })),
    ofAgent(({ agent, other }) => ({ key: 'upsertAgent', agent: { ...agent, tools: [{ toolId: other }] } })),
    ofAgent(({ agent }) => ({ key: 'upsertAgent', agent: { ...agent, blocks: [{ label: 'new', value: '' }] } })),
  ],
  attachTool: [
    ofAgent(({ id, other }) => ({ agentId: id, toolId: other })),
    ofAgent(({ id, has }) => ({ agentId: id, toolId: has, approvalOverride: false })),
  ],
  setToolApproval: [ofAgent(({ id, has }) => ({ agentId: id, toolId: has, requiresApproval: null }))],
  detachTool: [ofAgent(({ id, has }) => ({ agentId: id, toolId: has }))],
  attachBlock: [ofAgent(({ id, otherBlockId }) => ({ agentId: id, blockId: otherBlockId }))],
  detachBlock: [ofAgent(({ id, blockId }) => ({ agentId: id, blockId }))],
  updateTool: [
    { subject: 'has', given: ({ has }) => ({ id: has, timeoutMs: 5, tags: ['x'] }) },
    { subject: 'has', given: ({ has }) => ({ id: has, implementation: http({ a: 'c', d: 'e' }) }) },
  ],
  upsertTool: [
    { subject: 'has', given: () => ({ name: 'upsertTool_has', description: 'd', implementation: http({ a: 'b' }) }) },
    { subject: 'has', given: () => ({ name: 'upsertTool_has', implementation: { client: true } }) },
  ],
  updateBlock: [
    { subject: 'blockId', given: ({ blockId }) => ({ id: blockId, value: 'second' }) },
    { subject: 'blockId', given: ({ blockId }) => ({ id: blockId, label: 'relabelled', readOnly: true }) },
  ],
  updateConversation: [
    { subject: 'conversationId', given: ({ conversationId }) => ({ id: conversationId, title: 't' }) },
    { subject: 'conversationId', given: ({ conversationId }) => ({ id: conversationId, metadata: { b: 1, a: 2 } }) },
    { subject: 'conversationId', given: ({ conversationId }) => ({ id: conversationId, title: null, metadata: null }) },
  ],
  archiveConversation: [{ subject: 'conversationId', given: ({ conversationId }) => ({ id: conversationId }) }],
  unarchiveConversation: [{ subject: 'conversationId', given: ({ conversationId }) => ({ id: conversationId }) }],
}

it.each(Object.keys(changes))(
  '[UPD1] %s, given what is already there, moves no updatedAt and is not recorded',
  async (name) => {
    const parts = await makeParts(name)
    if (name === 'unarchiveConversation') await mutate('archiveConversation', { id: parts.conversationId })
    for (const { subject, given } of changes[name]!) {
      const id = String(parts[subject])
      const input = given(parts)
      const before = await stateOf(id)
      await mutate(name, input)
      const changed = await stateOf(id)
      expect(Date.parse(changed.updatedAt), JSON.stringify(input)).toBeGreaterThan(Date.parse(before.updatedAt))
      await mutate(name, input)
      expect(await stateOf(id), JSON.stringify(input)).toEqual(changed)
    }
  },
)
