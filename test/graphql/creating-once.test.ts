import { afterAll, describe, expect, test } from 'vitest'

import { decodeId, encodeId } from '../../src/domain/ids.ts'
import { schema } from '../../src/graphql/schema.ts'
import { createGround } from '../support/execute.ts'
import { createFixtures } from '../support/fixtures.ts'

const ground = await createGround()
const make = createFixtures(ground.db)
afterAll(() => ground.close())

interface Create {
  /** Where the id of the new object is in the answer. */
  readonly selection: string
  readonly delete?: string
  /** Each of these is the same request. */
  readonly same: () => Promise<readonly object[]>
  readonly different: readonly object[]
}

const tenant = () => ({ tenant_id: ground.viewer.tenantId })
const agentId = async () => encodeId('Agent', (await make.agent({ ...tenant(), model: 'demo/scripted' })).id)
const model = 'demo/scripted'

async function messageId(): Promise<string> {
  const agent = await make.agent(tenant())
  const conversation = await make.conversation({ ...tenant(), agent_id: agent.id })
  const run = await make.run(conversation, { status: 'COMPLETED', stop_reason: 'END_TURN', hold: 1 })
  return encodeId('Message', (await make.message(run, 'USER', { content: [{ text: 'hi' }] })).id)
}

const document = { version: 1, agent: { name: 'imported', model }, tools: [] }

const creates: Record<string, Create> = {
  createAgent: {
    selection: 'agent { id }',
    delete: 'deleteAgent',
    same: async () => [
      { name: 'a', model, blocks: [{ label: 'l', value: 'v' }], modelSettings: {} },
      {
        blocks: [{ value: 'v', label: 'l', readOnly: false, charLimit: 20_000 }],
        ...{ name: 'a', model, instructions: '', includeBaseTools: true, tools: [], toolRules: [], blockIds: [] },
        ...{ metadata: {}, tags: [], timezone: 'UTC', keepRequests: false, tellTimes: false },
        modelSettings: { parallelToolCalls: true, fallbacks: [] },
      },
    ],
    different: [{ description: null }, { blocks: [{ label: 'l', value: 'w' }] }, { modelSettings: null }],
  },
  importAgent: {
    selection: 'agent { id }',
    delete: 'deleteAgent',
    same: async () => [{ document }, { document: { ...document, agent: { model, name: 'imported' } } }],
    different: [{ document: { ...document, agent: { ...document.agent, tags: [] } } }],
  },
  createConversation: {
    selection: 'conversation { id }',
    delete: 'deleteConversation',
    same: async () => {
      const id = await agentId()
      return [{ agentId: id }, { agentId: id, metadata: {}, isolatedBlockLabels: [] }]
    },
    different: [{ title: null }, { metadata: { a: 1 } }],
  },
  createBlock: {
    selection: 'block { id }',
    delete: 'deleteBlock',
    same: async () => [
      { label: 'l', value: 'v' },
      { label: 'l', value: 'v', charLimit: 20_000, readOnly: false },
    ],
    different: [{ value: 'w' }, { charLimit: null }],
  },
  createSleeptimeGroup: {
    selection: 'group { id }',
    delete: 'deleteSleeptimeGroup',
    same: async () => {
      const id = await agentId()
      return [{ agentId: id }, { agentId: id, frequency: 1, sleeptimeAgentIds: [] }]
    },
    different: [{ frequency: 2 }, { sleeptimeAgentIds: null }],
  },
  forkConversation: {
    selection: '... on ForkConversationSuccess { conversation { id } }',
    delete: 'deleteConversation',
    same: async () => {
      const id = await messageId()
      return [{ messageId: id }, { messageId: id, metadata: {} }]
    },
    different: [{ title: null }, { metadata: { a: 1 } }],
  },
  createSchedule: {
    selection: 'schedule { id }',
    delete: 'deleteSchedule',
    same: async () => {
      const schedule = { name: 's', agentId: await agentId(), cron: '0 8 * * *' }
      return [
        { ...schedule, messages: [{ text: 'hi' }] },
        { ...schedule, messages: [{ text: 'hi', role: 'USER' }], missed: 'SKIP', enabled: true },
      ]
    },
    different: [{ conversationId: null }, { missed: 'ONCE' }, { messages: [{ text: 'ho' }] }],
  },
  createBudget: {
    selection: 'budget { id }',
    delete: 'deleteBudget',
    same: async () => {
      const budget = { agentId: await agentId(), period: 'DAY', limitTokens: 1_000 }
      return [budget, { ...budget, whenReached: 'STOP' }]
    },
    different: [{ limitUsd: null }, { period: 'MONTH' }, { limitTokens: 2 }],
  },
  createWebhook: {
    selection: 'webhook { id }',
    delete: 'deleteWebhook',
    same: async () => {
      const webhook = { url: 'https://hooks.example/', events: ['PING'] }
      return [webhook, { ...webhook, headers: {} }]
    },
    different: [{ events: ['RUN_ENDED'] }, { headers: { a: 'b' } }, { agentIds: null }],
  },
}

const capitalized = (name: string) => name[0]!.toUpperCase() + name.slice(1)

async function create(name: string, input: object): Promise<string> {
  const { data, errors } = await ground.execute(
    `mutation ($input: ${capitalized(name)}Input!) { ${name}(input: $input) { ${creates[name]!.selection} } }`,
    { input },
  )
  if (errors.length > 0) return String(errors[0]!.code)
  return (Object.values(data[name])[0] as { id: string }).id
}

const countKinds = `select (select count(*) from agents) + (select count(*) from blocks) + (select count(*) from conversations)
  + (select count(*) from audit_entries) + (select count(*) from sleeptime_groups) + (select count(*) from schedules)
  + (select count(*) from budgets) + (select count(*) from webhooks) as count`

const count = async (): Promise<number> => Number((await ground.pool.query(countKinds)).rows[0].count)

describe.each(Object.entries(creates))('%s', (name, { same, different, delete: deletion }) => {
  test('[IDM6] the same key and input give the same object, once; other input is a conflict', async () => {
    const [first, ...again] = await same()
    const idempotencyKey = `key of ${name}`
    const id = await create(name, { ...first, idempotencyKey })
    const before = await count()
    expect(id).toMatch(/^\w+_[0-9a-f]{32}$/)
    for (const input of [first, ...again]) expect(await create(name, { ...input, idempotencyKey })).toBe(id)
    for (const more of different)
      expect(await create(name, { ...first, ...more, idempotencyKey }), JSON.stringify(more)).toBe(
        'IDEMPOTENCY_CONFLICT',
      )
    expect(await count()).toBe(before)

    await ground.run(`mutation ($id: ID!) { ${deletion}(input: { id: $id }) { __typename } }`, { id })
    expect(await create(name, { ...first, idempotencyKey })).toBe('NOT_FOUND')
  })

  test('[IDM6] [IDM8] requests with the same key at the same moment make one object', async () => {
    const [input] = await same()
    const before = await count()
    await create(name, (await same())[0]!)
    const perObject = (await count()) - before
    const middle = await count()
    const ids = await Promise.all(
      Array.from({ length: 6 }, () => create(name, { ...input, idempotencyKey: `at once ${name}` })),
    )
    expect(new Set(ids).size, ids.join()).toBe(1)
    expect(ids[0]).toMatch(/^\w+_[0-9a-f]{32}$/)
    // What `same` itself prepares is in `perObject` too.
    expect((await count()) - middle).toBeLessThanOrEqual(perObject)
  })
})

test('[IDM6] every mutation that creates something takes a key, but those that make secrets', () => {
  const makers = /^(create|import|fork|send|edit|regenerate)/
  const secrets = ['createApiKey', 'createToken', 'createDecisionLink']
  for (const field of Object.values(schema.getMutationType()!.getFields())) {
    if (!makers.test(field.name) || secrets.includes(field.name)) continue
    const input = schema.getType(`${capitalized(field.name)}Input`) as unknown as { getFields(): object }
    expect(Object.keys(input.getFields()), field.name).toContain('idempotencyKey')
  }
})

test('[IDM3] a create that failed leaves its key free', async () => {
  const idempotencyKey = 'failed'
  expect(await create('createAgent', { name: 'a', model: 'demo/none', idempotencyKey })).toBe('BAD_USER_INPUT')
  expect(await create('createAgent', { name: 'a', model, idempotencyKey })).toMatch(/^agent_/)
})

test('[IDM7] a key in a nested input is refused', async () => {
  const block = { label: 'l', value: 'v', idempotencyKey: 'k' }
  const createAgent = 'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }'
  const upsertAgent = 'mutation ($input: UpsertAgentInput!) { upsertAgent(input: $input) { agent { id } } }'
  const importAgent = 'mutation ($input: ImportAgentInput!) { importAgent(input: $input) { agent { id } } }'
  const agent = { name: 'a', model, idempotencyKey: 'k' }
  expect(
    await ground.refusal(createAgent, { name: 'a', model, blocks: [{ ...block, idempotencyKey: null }, block] }),
  ).toMatchObject({ code: 'BAD_USER_INPUT', field: 'input.blocks.1.idempotencyKey' })
  expect(await ground.refusal(upsertAgent, { key: 'u', agent })).toMatchObject({
    code: 'BAD_USER_INPUT',
    field: 'input.agent.idempotencyKey',
  })
  expect(await ground.refusal(importAgent, { document: { ...document, agent } })).toMatchObject({
    code: 'BAD_USER_INPUT',
    field: 'input.document.agent.idempotencyKey',
  })
})

test('[IDM8] a repeated create gives the same object even if what it needed has gone', async () => {
  const fork = { messageId: await messageId(), idempotencyKey: 'gone' }
  const forkId = await create('forkConversation', fork)
  const { uuid } = decodeId(fork.messageId) as { uuid: string }
  await ground.pool.query('delete from messages where id = $1', [uuid])
  expect(await create('forkConversation', fork)).toBe(forkId)
  expect(await create('forkConversation', { ...fork, idempotencyKey: 'other' })).toBe('NOT_FOUND')

  const id = (
    await ground.run(
      'mutation { upsertTool(input: { name: "gone", description: "", implementation: { client: true }, parameters: { type: "object" } }) { tool { id } } }',
    )
  ).upsertTool.tool.id
  const imported = { document: { ...document, tools: [{ name: 'gone', kind: 'CLIENT' }] }, idempotencyKey: 'gone' }
  const agent = await create('importAgent', imported)
  await ground.run('mutation ($id: ID!) { deleteTool(input: { id: $id }) { __typename } }', { id })
  expect(await create('importAgent', imported)).toBe(agent)
  expect(await create('importAgent', { ...imported, idempotencyKey: 'other' })).toBe('BAD_USER_INPUT')
})
