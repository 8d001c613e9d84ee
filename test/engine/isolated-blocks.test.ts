import { afterAll, expect, test } from 'vitest'

import type { ModelRequest } from '../../src/domain/models/model-request.ts'
import { startTestApp } from '../support/app.ts'
import { talkTo } from '../support/talk.ts'
import { createTalkingModel, type Reply } from '../support/talking-model.ts'

/** Remembers what the user says: the foreground agent if it is asked to, the sleeptime agent always. */
const models = createTalkingModel({
  main: {
    window: 20_000,
    answer(request): Reply {
      if (request.messages.at(-1)!.role === 'tool') return { text: 'Done.' }
      const text = lastText(request)
      const [, fact] = /remember (\w+)/.exec(text) ?? []
      const [, read] = /(?:> |: )note (\w+)/.exec(text) ?? []
      const isBackground = text.startsWith('You work in the background')
      const label = 'human'
      if (isBackground && read)
        return { calls: [{ name: 'memory_insert', args: { label, new_string: `${read} noted`, insert_line: -1 } }] }
      if (!isBackground && fact)
        return { calls: [{ name: 'memory_replace', args: { label, old_string: 'nobody', new_string: fact } }] }
      return { text: 'Understood.' }
    },
  },
})

function lastText({ messages }: ModelRequest): string {
  const last = messages.findLast((message) => message.role === 'user')
  return last ? last.content.map((part) => ('text' in part ? part.text : '')).join('') : ''
}

const app = await startTestApp({ providers: [models.provider] })
const talk = talkTo(app)
afterAll(() => app.stop())

async function newAgent(): Promise<string> {
  return talk.createAgent({
    model: 'talk/main',
    includeBaseTools: true,
    blocks: [
      { label: 'persona', value: 'kind' },
      { label: 'human', value: 'nobody', description: 'The customer.' },
    ],
  })
}

async function newConversation(agentId: string, isolatedBlockLabels: string[] = ['human']): Promise<string> {
  const { createConversation } = await app.data(
    `mutation ($input: CreateConversationInput!) { createConversation(input: $input) { conversation { id } } }`,
    { input: { agentId, isolatedBlockLabels } },
  )
  return createConversation.conversation.id
}

async function show(id: string): Promise<any> {
  const { conversation } = await app.data(
    `query ($id: ID!) { conversation(id: $id) { context { systemPrompt }
      blocks { id label value version description conversation { id } agents { id } } } }`,
    { id },
  )
  return conversation
}

const valueOf = async (id: string) => (await show(id)).blocks.find((block: any) => block.label === 'human').value
const say = async (id: string, text: string) => talk.settled(await talk.start(id, text))

test('[BLK6] a conversation with isolated blocks has copies of its own, which its prompt and its memory tools use', async () => {
  const agent = await newAgent()
  const [ann, ben] = [await newConversation(agent), await newConversation(agent)]
  const plain = await newConversation(agent, [])
  await say(ann, 'remember Ann')
  await say(ben, 'remember Ben')
  expect(await Promise.all([ann, ben, plain].map(valueOf))).toEqual(['Ann', 'Ben', 'nobody'])
  const shown = await show(ann)
  expect(shown.context.systemPrompt).toContain('Ann')
  expect(shown.context.systemPrompt).not.toContain('nobody')
  expect(shown.blocks).toMatchObject([
    { label: 'persona', conversation: null, agents: [{ id: agent }] },
    { label: 'human', description: 'The customer.', version: 2, conversation: { id: ann }, agents: [] },
  ])
  expect(models.requests.at(-1)!.systemPrompt).toContain('Ben')

  // Copies are in no list of blocks, and follow a new label. One can be changed by itself.
  const { agent: owner } = await app.data('query ($id: ID!) { agent(id: $id) { blocks { id label } } }', { id: agent })
  const { blocks } = await app.data('{ blocks(first: 200) { nodes { id } } }')
  const copy = shown.blocks[1].id
  expect(blocks.nodes.map(({ id }: any) => id)).not.toContain(copy)
  const update = (input: object) =>
    app.request('mutation ($input: UpdateBlockInput!) { updateBlock(input: $input) { __typename } }', { input })
  expect((await update({ id: copy, label: 'person' })).errors![0]!.extensions).toMatchObject({
    code: 'BAD_USER_INPUT',
    field: 'input.label',
  })
  await update({ id: copy, value: 'Anna' })
  await update({ id: owner.blocks[1].id, label: 'customer' })
  expect((await show(ann)).blocks[1]).toMatchObject({ id: copy, label: 'customer', value: 'Anna' })
  const attached = await app.request(
    'mutation ($input: AttachBlockInput!) { attachBlock(input: $input) { __typename } }',
    { input: { agentId: await newAgent(), blockId: copy } },
  )
  expect(attached.errors![0]!.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: 'input.blockId' })

  await app.data('mutation ($id: ID!) { clearConversation(input: { id: $id }) { __typename } }', { id: ann })
  expect((await show(ann)).blocks[1].value).toBe('Anna')
  await app.data('mutation ($id: ID!) { deleteConversation(input: { id: $id }) { __typename } }', { id: ann })
  expect((await app.data('query ($id: ID!) { block(id: $id) { id } }', { id: copy })).block).toBeNull()
})

test("[BLK80] the copy of a conversation cannot be deleted, and outlives the agent's block", async () => {
  const agent = await newAgent()
  const [ann, plain] = [await newConversation(agent), await newConversation(agent, [])]
  await say(ann, 'remember Ann')
  const human = async (id: string) => (await show(id)).blocks.find((block: any) => block.label === 'human')
  const [copy, original] = [await human(ann), await human(plain)]
  const remove = (id: string) =>
    app.request('mutation ($id: ID!) { deleteBlock(input: { id: $id }) { deletedId } }', { id })
  const { errors } = await remove(copy.id)
  expect(errors![0]).toMatchObject({
    message: expect.stringContaining('the copy of one conversation'),
    extensions: { code: 'BAD_USER_INPUT', field: 'input.id' },
  })
  expect(await Promise.all([ann, plain].map(valueOf))).toEqual(['Ann', 'nobody'])

  expect((await remove(original.id)).data.deleteBlock.deletedId).toBe(original.id)
  for (const id of [ann, plain]) expect((await show(id)).blocks.map(({ label }: any) => label)).toEqual(['persona'])
  expect((await say(ann, 'hello')).status).toBe('COMPLETED')
  const { createBlock } = await app.data(
    'mutation { createBlock(input: { label: "human", value: "anyone" }) { block { id } } }',
  )
  await app.data('mutation ($input: AttachBlockInput!) { attachBlock(input: $input) { agent { id } } }', {
    input: { agentId: agent, blockId: createBlock.block.id },
  })
  expect(await Promise.all([ann, plain].map(valueOf))).toEqual(['Ann', 'anyone'])
})

test('[BLK7] a label that the agent does not have is an error that names it', async () => {
  const { errors } = await app.request(
    `mutation ($input: CreateConversationInput!) { createConversation(input: $input) { conversation { id } } }`,
    { input: { agentId: await newAgent(), isolatedBlockLabels: ['human', 'nothing'] } },
  )
  expect(errors![0]).toMatchObject({
    message: expect.stringContaining('"nothing"'),
    extensions: { code: 'BAD_USER_INPUT', field: 'input.isolatedBlockLabels' },
  })
})

test('[SLP12] a sleeptime agent works separately for each conversation with isolated blocks, and sees nothing of the others', async () => {
  const agent = await newAgent()
  const conversations = [await newConversation(agent), await newConversation(agent), await newConversation(agent, [])]
  await app.data(
    `mutation ($input: CreateSleeptimeGroupInput!) { createSleeptimeGroup(input: $input) { group { id } } }`,
    { input: { agentId: agent, frequency: 3 } },
  )
  const before = models.requests.length
  // The third turn starts work for all three conversations.
  const names = ['Ann', 'Ben', 'Cat']
  let run: any
  for (const [index, id] of conversations.entries()) run = await say(id, `note ${names[index]}`)
  const { run: shown } = await app.data(
    'query ($id: ID!) { run(id: $id) { children { id conversation { id agent { id } } } } }',
    { id: run.id },
  )
  expect(shown.children).toHaveLength(3)
  for (const child of shown.children) expect((await talk.settled(child.id)).status).toBe('COMPLETED')
  expect(new Set(shown.children.map((child: any) => child.conversation.id)).size).toBe(3)
  expect(await Promise.all(conversations.map(valueOf))).toEqual([
    'nobody\nAnn noted',
    'nobody\nBen noted',
    'nobody\nCat noted',
  ])
  const background = models.requests.slice(before).filter((request) => lastText(request).startsWith('You work'))
  for (const request of background) {
    const text = JSON.stringify([request.systemPrompt, request.messages])
    expect(names.filter((name) => text.includes(name))).toHaveLength(1)
  }
  await app.data('mutation ($id: ID!) { deleteConversation(input: { id: $id }) { __typename } }', {
    id: conversations[0],
  })
  const gone = await Promise.all(
    shown.children.map(({ id }: any) => app.data('query ($id: ID!) { run(id: $id) { id } }', { id })),
  )
  expect(gone.filter((data) => data.run === null)).toHaveLength(1)
})
