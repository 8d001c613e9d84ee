import { afterAll, describe, expect, it } from 'vitest'

import { uuidOf } from '../../src/domain/ids.ts'
import type { Embeddings, Provider } from '../../src/providers/provider.ts'
import { demoEmbeddings } from '../../src/providers/demo/demo-embedding.ts'
import { demoProvider } from '../../src/providers/demo/demo.ts'
import { startTestApp } from '../support/app.ts'
import { talkTo } from '../support/talk.ts'

/** Refuses what it is told to, waits as long as it is told to, and remembers what it was asked for. */
class FakeEmbeddings implements Embeddings {
  readonly asked: (readonly string[])[] = []
  refuses: (text: string) => boolean = () => false
  gate: Promise<void> | undefined
  isAway = false

  has(handle: string): boolean {
    return handle.startsWith('fake/')
  }

  async embed(handle: string, texts: readonly string[], signal: AbortSignal) {
    this.asked.push(texts)
    await this.gate
    if (this.isAway) throw Object.assign(new Error('try later'), { status: 503 })
    if (texts.some((text) => this.refuses(text))) throw Object.assign(new Error('no'), { status: 400 })
    return demoEmbeddings.embed(
      handle,
      // Another model has other directions.
      texts.map((text) => (handle === 'fake/other' ? text.split('').toReversed().join('') : text)),
      signal,
    )
  }
}

const fake = new FakeEmbeddings()
const provider: Provider = { ...demoProvider, name: 'fake', models: () => [], embeddings: fake }

const app = await startTestApp({ providers: [provider] })
const talk = talkTo(app)
afterAll(() => app.stop())

const patience = { timeout: 30_000, interval: 50 }
const add = `mutation ($input: AddPassagesInput!) {
  addPassages(input: $input) { passages { id text tags metadata embedded createdAt agent { id } } } }`
const remove = 'mutation ($input: DeletePassagesInput!) { deletePassages(input: $input) { deletedIds } }'
const update = 'mutation ($input: UpdateAgentInput!) { updateAgent(input: $input) { agent { embeddingModel } } }'
const search = `query ($id: ID!, $query: String!, $first: Int, $tags: [String!]) {
  agent(id: $id) { searchPassages(query: $query, first: $first, tags: $tags) { score passage { id text tags } } } }`
const list = `query ($id: ID!, $first: Int, $after: String, $tags: [String!]) {
  agent(id: $id) { passages(first: $first, after: $after, tags: $tags) {
    totalCount nodes { text embedded } pageInfo { endCursor hasNextPage } } } }`

const createAgent = (input: object = {}) => talk.createAgent({ model: 'demo/scripted', ...input })
const addTo = async (agentId: string, ...passages: (string | object)[]) => {
  const input = { agentId, passages: passages.map((text) => (typeof text === 'string' ? { text } : text)) }
  return (await app.data(add, { input })).addPassages.passages
}
const find = async (id: string, query: string, options: object = {}): Promise<string[]> => {
  const { agent } = await app.data(search, { id, query, ...options })
  return agent.searchPassages.map(({ passage }: { passage: { text: string } }) => passage.text)
}
const passagesOf = async (id: string, options: object = {}) => (await app.data(list, { id, ...options })).agent.passages
const refusal = async (query: string, variables: object) => {
  const { errors } = await app.request(query, variables)
  return { code: errors![0]!.extensions.code, field: errors![0]!.extensions['field'], message: errors![0]!.message }
}

/** Resolves when as many passages of the agent are embedded. */
async function embedded(id: string, count: number): Promise<void> {
  const countEmbedded = async () => (await passagesOf(id)).nodes.filter((node: any) => node.embedded).length
  await expect.poll(countEmbedded, patience).toBe(count)
}

describe('an archive', () => {
  it('[PAS1] takes texts with tags and metadata, lists them oldest first, and filters by all tags', async () => {
    const id = await createAgent()
    const [first] = await addTo(
      id,
      { text: ' one ', tags: ['a', "it's \\ & #odd"], metadata: { n: 1 } },
      { text: 'two', tags: ['a'] },
      'three',
    )
    expect(first).toEqual({
      id: expect.stringMatching(/^passage_[0-9a-f]{32}$/),
      text: 'one',
      tags: ['a', "it's \\ & #odd"],
      metadata: { n: 1 },
      embedded: false,
      createdAt: expect.any(String),
      agent: { id },
    })
    const page = await passagesOf(id, { first: 2 })
    expect(page).toMatchObject({ totalCount: 3, nodes: [{ text: 'one' }, { text: 'two' }] })
    const next = await passagesOf(id, { first: 2, after: page.pageInfo.endCursor })
    expect(next).toMatchObject({ nodes: [{ text: 'three' }], pageInfo: { hasNextPage: false } })
    expect((await passagesOf(id, { tags: ['a'] })).totalCount).toBe(2)
    expect((await passagesOf(id, { tags: ['a', "it's \\ & #odd"] })).nodes).toMatchObject([{ text: 'one' }])
    expect((await passagesOf(id, { tags: ['b'] })).nodes).toEqual([])
    expect(
      (await app.data('query ($id: ID!) { node(id: $id) { ... on Passage { text } } }', { id: first.id })).node,
    ).toEqual({ text: 'one' })
    expect(await addTo(id)).toEqual([])
  })

  it('[PAS1] refuses what is too long, too much or too little, and stores nothing of it', async () => {
    const agentId = await createAgent()
    const cases: [object[], string][] = [
      [[{ text: ' ' }], 'input.passages.0.text'],
      [[{ text: 'ok' }, { text: 'x'.repeat(20_001) }], 'input.passages.1.text'],
      [[{ text: 'ok', tags: ['x'.repeat(65)] }], 'input.passages.0.tags.0'],
      [[{ text: 'ok', tags: Array.from({ length: 51 }, (_, index) => `t${index}`) }], 'input.passages.0.tags'],
      [[{ text: 'ok', metadata: [] }], 'input.passages.0.metadata'],
      [Array.from({ length: 1_001 }, () => ({ text: 'ok' })), 'input.passages'],
    ]
    for (const [passages, field] of cases)
      expect(await refusal(add, { input: { agentId, passages } })).toMatchObject({ code: 'BAD_USER_INPUT', field })
    expect((await passagesOf(agentId)).totalCount).toBe(0)
    expect(await refusal(add, { input: { agentId: 'agent_1', passages: [] } })).toMatchObject({ code: 'NOT_FOUND' })
    expect(await refusal(search, { id: agentId, query: ' ' })).toMatchObject({ field: 'query' })
    expect(await refusal(search, { id: agentId, query: 'a', first: 101 })).toMatchObject({ field: 'first' })
    for (const ruler of ['-'.repeat(500), '- '.repeat(500), '-('.repeat(500), '!-|'.repeat(500)])
      expect(await find(agentId, `${ruler} a`)).toEqual([])
    expect(await find(agentId, `${'x'.repeat(5_000)} ' \\ & | ! ( ) : * <-> "`)).toEqual([])
  })

  it('[PAS2] deletes all of the given passages or none', async () => {
    const id = await createAgent()
    const [one, two] = await addTo(id, 'one', 'two')
    const unknown = `passage_${'0'.repeat(32)}`
    expect(await refusal(remove, { input: { ids: [one.id, unknown] } })).toMatchObject({ code: 'NOT_FOUND' })
    expect((await passagesOf(id)).totalCount).toBe(2)
    const { deletePassages } = await app.data(remove, { input: { ids: [two.id, one.id] } })
    expect(deletePassages.deletedIds).toEqual([two.id, one.id])
    expect((await passagesOf(id)).totalCount).toBe(0)
    expect(await find(id, 'one')).toEqual([])
    const { auditLog } = await app.data('{ auditLog(first: 2) { nodes { action before after } } }')
    expect(auditLog.nodes).toEqual([
      { action: 'deletePassages', before: { passages: [two.id, one.id] }, after: { passages: [] } },
      { action: 'addPassages', before: { passages: [] }, after: { passages: [one.id, two.id] } },
    ])
  })

  it('[PAS3] is searched by words: all of them, some of them, and the beginning of one', async () => {
    const id = await createAgent()
    const other = await createAgent()
    await addTo(other, 'The red bicycle of somebody else')
    await addTo(
      id,
      'Ada rides a red bicycle to work',
      { text: 'The red house', tags: ['home'] },
      'Bob prefers the train',
      ...Array.from({ length: 300 }, (_, index) => `The common entry number ${index}`),
    )
    expect((await find(id, 'red bicycle'))[0]).toBe('Ada rides a red bicycle to work')
    expect(await find(id, 'red bicycle')).toEqual(['Ada rides a red bicycle to work', 'The red house'])
    expect(await find(id, 'bicycl')).toEqual(['Ada rides a red bicycle to work'])
    // A rare word counts more than a common one.
    expect((await find(id, 'the train'))[0]).toBe('Bob prefers the train')
    expect(await find(id, 'red', { tags: ['home'] })).toEqual(['The red house'])
    expect(await find(id, 'entry')).toHaveLength(10)
    expect(await find(id, 'entry', { first: 100 })).toHaveLength(100)
    expect(await find(id, 'zebra')).toEqual([])
  })
})

describe('an archive with an embedding model', () => {
  it('[PAS5] is embedded in the background and then searched by meaning too', async () => {
    const id = await createAgent({ embeddingModel: 'demo/embedding' })
    await addTo(id, 'Photosynthesis converts sunlight', 'The stock market fell', 'Bread needs yeast')
    await embedded(id, 3)
    // No whole word is shared, and no word begins like another: only parts of words are.
    expect((await find(id, 'biosynthesis of plants', { first: 1 }))[0]).toBe('Photosynthesis converts sunlight')
    const { agent } = await app.data('query ($id: ID!) { agent(id: $id) { embeddingModel } }', { id })
    expect(agent.embeddingModel).toBe('demo/embedding')
    expect(await refusal(update, { input: { id, embeddingModel: 'demo/scripted' } })).toMatchObject({
      code: 'BAD_USER_INPUT',
      field: 'input.embeddingModel',
    })
  })

  it('[PAS6] asks for each text once, and a text that is refused stops no other', async () => {
    fake.asked.length = 0
    fake.refuses = (text) => text.includes('unspeakable')
    const id = await createAgent({ embeddingModel: 'fake/model' })
    await addTo(id, 'one', 'two', 'something unspeakable', 'three', 'four')
    await embedded(id, 4)
    const { nodes } = await passagesOf(id)
    expect(nodes).toContainEqual({ text: 'something unspeakable', embedded: false })
    expect(await find(id, 'unspeakable')).toContain('something unspeakable')
    // Whatever succeeded was not asked for again.
    const succeeded = fake.asked.filter((texts) => !texts.some(fake.refuses)).flat()
    expect(succeeded.filter((text) => text === 'one')).toHaveLength(1)
  })

  it('[PAS6] is found by its words while the provider is away, and embedded when it is back', async () => {
    fake.refuses = () => false
    fake.isAway = true
    const id = await createAgent({ embeddingModel: 'fake/model' })
    await addTo(id, 'The kettle is in the kitchen')
    expect(await find(id, 'kettle')).toEqual(['The kettle is in the kitchen'])
    await expect.poll(async () => (await queue(id))[0]?.attempts, patience).toBe(1)
    // It is postponed when the request has failed.
    await expect.poll(async () => (await queue(id))[0]?.soon, patience).toBe(true)
    fake.isAway = false
    await app.database.pool.query('update passage_embeddings set due_at = now()')
    await embedded(id, 1)
    expect(await queue(id)).toEqual([])
  })

  it('[PAS7] is embedded again when the model changes, and the old vectors serve meanwhile', async () => {
    const id = await createAgent({ embeddingModel: 'fake/model' })
    await addTo(id, 'Photosynthesis converts sunlight', 'Bread needs yeast')
    await embedded(id, 2)
    const gate = Promise.withResolvers<void>()
    fake.gate = gate.promise
    await app.data(update, { input: { id, embeddingModel: 'fake/other' } })
    expect((await passagesOf(id)).nodes).toMatchObject([{ embedded: false }, { embedded: false }])
    const found = find(id, 'biosynthesis', { first: 1 })
    gate.resolve()
    expect(await found).toEqual(['Photosynthesis converts sunlight'])
    await embedded(id, 2)
    await app.data(update, { input: { id, embeddingModel: null } })
    expect(await queue(id)).toEqual([])
  })

  it('[PAS8] is exported and imported on request', async () => {
    const id = await createAgent()
    await addTo(id, { text: 'one', tags: ['a'], metadata: { n: 1 } }, 'two')
    const exported = `query ($id: ID!, $with: Boolean!) { agent(id: $id) { export(passages: $with) } }`
    const without = await app.data(exported, { id, with: false })
    expect(without.agent.export).not.toHaveProperty('passages')
    const { agent } = await app.data(exported, { id, with: true })
    const imported = await app.data(
      'mutation ($input: ImportAgentInput!) { importAgent(input: $input) { agent { id passages { nodes { text tags metadata } } } } }',
      { input: { document: agent.export } },
    )
    expect(imported.importAgent.agent.passages.nodes).toEqual([
      { text: 'one', tags: ['a'], metadata: { n: 1 } },
      { text: 'two', tags: [], metadata: {} },
    ])
    const broken = { ...agent.export, passages: [{ text: '' }] }
    expect(
      await refusal('mutation ($input: ImportAgentInput!) { importAgent(input: $input) { agent { id } } }', {
        input: { document: broken },
      }),
    ).toMatchObject({ code: 'BAD_USER_INPUT', field: 'input.document.passages.0.text' })
  })

  it('[PAS9] goes with its agent', async () => {
    const id = await createAgent({ embeddingModel: 'demo/embedding' })
    const [passage] = await addTo(id, 'one')
    await app.data('mutation ($input: DeleteAgentInput!) { deleteAgent(input: $input) { deletedId } }', {
      input: { id },
    })
    expect((await app.data('query ($id: ID!) { node(id: $id) { id } }', { id: passage.id })).node).toBeNull()
    const left = async () =>
      (await app.database.pool.query('select from passages where id = $1', [uuidOf('Passage', passage.id)])).rowCount
    await expect.poll(left, patience).toBe(0)
  })
})

async function queue(agentId: string): Promise<{ attempts: number; soon: boolean }[]> {
  const { rows } = await app.database.pool.query(
    "select attempts, due_at < now() + interval '10 s' as soon from passage_embeddings join passages on passages.id = passage_id where agent_id = $1",
    [uuidOf('Agent', agentId)],
  )
  return rows
}
