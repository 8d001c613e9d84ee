import { afterAll, describe, expect, it } from 'vitest'

import { createGround } from '../support/execute.ts'

const ground = await createGround()
afterAll(() => ground.close())

const fields = 'id label value description charLimit version readOnly createdAt updatedAt'
const create = `mutation ($input: CreateBlockInput!) { createBlock(input: $input) { block { ${fields} } } }`
const update = `mutation ($input: UpdateBlockInput!) {
  updateBlock(input: $input) {
    __typename
    ... on UpdateBlockSuccess { block { ${fields} } }
    ... on Refusal { message }
    ... on BlockChangedRefusal { block { ${fields} } }
  }
}`
const attach = `mutation ($input: AttachBlockInput!) { attachBlock(input: $input) { agent { blocks { label } } } }`
const detach = `mutation ($input: DetachBlockInput!) { detachBlock(input: $input) { agent { blocks { label } } } }`
const remove = 'mutation ($input: DeleteBlockInput!) { deleteBlock(input: $input) { deletedId } }'

const createBlock = async (input: Record<string, unknown>) =>
  (await ground.run(create, { input: { value: '', ...input } })).createBlock.block
const updateBlock = async (input: Record<string, unknown>) => (await ground.run(update, { input })).updateBlock
async function createAgent(input: Record<string, unknown> = {}) {
  const data = await ground.run(
    'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id blocks { id } } } }',
    { input: { name: 'an agent', model: 'demo/scripted', ...input } },
  )
  return data.createAgent.agent as { id: string; blocks: { id: string }[] }
}

describe('a block', () => {
  it('[BLK1] has defaults, and a value within its limit, counted in characters', async () => {
    const block = await createBlock({ label: 'persona', value: 'kind' })
    expect(block).toMatchObject({
      id: expect.stringMatching(/^block_/),
      value: 'kind',
      description: null,
      charLimit: 20_000,
      version: 1,
      readOnly: false,
    })
    expect((await createBlock({ label: 'a', value: '😀😀', charLimit: 2 })).value).toBe('😀😀')
    const cases: [Record<string, unknown>, string, RegExp][] = [
      [{ label: '' }, 'input.label', /1 to 64/],
      [{ label: 'a/b' }, 'input.label', /"a\/b"/],
      [{ label: 'a', value: '😀😀😀', charLimit: 2 }, 'input.value', /3 characters.*2/],
      [{ label: 'a', charLimit: 0 }, 'input.charLimit', /from 1/],
      [{ label: 'a', description: 'x'.repeat(10_001) }, 'input.description', /10001/],
    ]
    for (const [input, field, message] of cases)
      expect(await ground.refusal(create, { value: '', ...input })).toMatchObject({
        code: 'BAD_USER_INPUT',
        field,
        message: expect.stringMatching(message),
      })
    expect(await ground.refusal(update, { id: block.id, charLimit: 3 })).toMatchObject({ field: 'input.charLimit' })
    expect(await ground.refusal(update, { id: block.id, label: null })).toMatchObject({ field: 'input.label' })
  })

  it('[BLK2] has a version that counts changes of its value, and an update of an old version is refused', async () => {
    const { id } = await createBlock({ label: 'notes', value: 'one', description: 'd' })
    expect(await updateBlock({ id, value: 'two', expectedVersion: 1 })).toMatchObject({
      __typename: 'UpdateBlockSuccess',
      block: { value: 'two', version: 2, description: 'd' },
    })
    expect((await updateBlock({ id, value: 'two', readOnly: true })).block).toMatchObject({
      version: 2,
      readOnly: true,
    })
    const refused = await updateBlock({ id, value: 'three', expectedVersion: 1 })
    expect(refused).toMatchObject({
      __typename: 'BlockChangedRefusal',
      message: expect.stringContaining('version 2, not 1'),
      block: { value: 'two', version: 2 },
    })
    expect(
      (await updateBlock({ id, value: null, description: null, charLimit: null, readOnly: null })).block,
    ).toMatchObject({ value: '', description: null, charLimit: 20_000, readOnly: false, version: 3 })
    const racing = await Promise.all(['a', 'b', 'c'].map((value) => updateBlock({ id, value, expectedVersion: 3 })))
    expect(racing.map((result) => result.__typename).toSorted()).toEqual([
      'BlockChangedRefusal',
      'BlockChangedRefusal',
      'UpdateBlockSuccess',
    ])
  })

  it('[BLK5] keeps its value while it is read-only, and says how to change it', async () => {
    const { id } = await createBlock({ label: 'policy', value: 'one', readOnly: true })
    const refused = await ground.refusal(update, { id, value: 'two' })
    expect(refused).toMatchObject({ code: 'BAD_USER_INPUT', field: 'input.value' })
    expect(refused.message).toContain('set readOnly to false')
    expect((await updateBlock({ id, description: 'fixed', charLimit: 50 })).block).toMatchObject({ value: 'one' })
    expect((await updateBlock({ id, value: 'two', readOnly: false })).block).toMatchObject({ value: 'two', version: 2 })
  })

  it('[BLK3] can be shared, and no agent has two blocks with the same label', async () => {
    const shared = await createBlock({ label: 'shared' })
    const rival = await createBlock({ label: 'shared' })
    const one = await createAgent({ blockIds: [shared.id] })
    const two = await createAgent()
    const labels = async (document: string, input: Record<string, unknown>) =>
      (Object.values(await ground.run(document, { input }))[0] as any).agent.blocks.map((block: any) => block.label)

    expect(await labels(attach, { agentId: two.id, blockId: shared.id })).toEqual(['shared'])
    expect(await labels(attach, { agentId: two.id, blockId: shared.id })).toEqual(['shared'])
    const { block } = await ground.run('query ($id: ID!) { block(id: $id) { agents { id } } }', { id: shared.id })
    expect(block.agents).toEqual([{ id: one.id }, { id: two.id }])
    expect(await ground.refusal(attach, { agentId: two.id, blockId: rival.id })).toMatchObject({
      code: 'BAD_USER_INPUT',
      field: 'input.blockId',
      message: expect.stringContaining('"shared"'),
    })
    const other = await createBlock({ label: 'other' })
    expect(await labels(attach, { agentId: two.id, blockId: other.id })).toEqual(['shared', 'other'])
    expect(await ground.refusal(update, { id: shared.id, label: 'other' })).toMatchObject({ field: 'input.label' })
    expect((await updateBlock({ id: shared.id, label: 'renamed' })).block.label).toBe('renamed')
    expect(await labels(attach, { agentId: two.id, blockId: rival.id })).toEqual(['renamed', 'other', 'shared'])
    expect(await labels(detach, { agentId: two.id, blockId: rival.id })).toEqual(['renamed', 'other'])
    expect(await labels(detach, { agentId: two.id, blockId: rival.id })).toEqual(['renamed', 'other'])

    expect(await ground.run(remove, { input: { id: shared.id } })).toEqual({ deleteBlock: { deletedId: shared.id } })
    expect(await ground.refusal(remove, { id: shared.id })).toMatchObject({ code: 'NOT_FOUND' })
    expect(await ground.refusal(attach, { agentId: one.id, blockId: shared.id })).toMatchObject({ code: 'NOT_FOUND' })
    expect(await labels(attach, { agentId: one.id, blockId: rival.id })).toEqual(['shared'])
    const { blocks } = await ground.run('{ blocks(filter: { label: "shared" }) { nodes { id } } }')
    expect(blocks.nodes).toEqual([{ id: rival.id }])
  })

  it('[BLK4] of two simultaneous changes that would give an agent the same label twice, one is refused, and neither waits for the other', async () => {
    for (let round = 0; round < 10; round += 1) {
      const [mine, yours] = [await createBlock({ label: 'mine' }), await createBlock({ label: 'yours' })]
      const agents = [await createAgent({ blockIds: [mine.id] }), await createAgent({ blockIds: [mine.id] })]
      const results = await Promise.all([
        ground.execute(update, { input: { id: yours.id, label: 'mine' } }),
        ...agents.map(({ id }) => ground.execute(attach, { input: { agentId: id, blockId: yours.id } })),
        ground.execute(update, { input: { id: mine.id, label: 'yours' } }),
      ])
      for (const { errors } of results) for (const error of errors) expect(error.code).toBe('BAD_USER_INPUT')
      for (const { id } of agents) {
        const { agent } = await ground.run('query ($id: ID!) { agent(id: $id) { blocks { label } } }', { id })
        const labels = agent.blocks.map((block: any) => block.label)
        expect(new Set(labels).size).toBe(labels.length)
      }
    }
  })
})
