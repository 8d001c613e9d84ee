import { afterAll, expect, test } from 'vitest'

import { manageKeys } from '../../src/cli/manage-keys.ts'
import { startTestApp } from '../support/app.ts'
import { captureLog } from '../support/captured-log.ts'
import { createGatedModel } from '../support/gated-model.ts'
import { createGraphQLClient, type GraphQLClient } from '../support/graphql-client.ts'
import { talkTo } from '../support/talk.ts'

const model = createGatedModel()
const { log, lines } = captureLog('warn')

const env = { HOLDPOINT_KEY_RUNS: '2', HOLDPOINT_TENANT_STORAGE: '50kb', HOLDPOINT_JWT_SECRET: 'PLANTED-secret' }
const app = await startTestApp({ env, log, providers: [model.provider] })
afterAll(async () => {
  model.assertAllTaken()
  await app.stop()
})

async function createKey(name: string, tenant?: string): Promise<GraphQLClient> {
  const command = { name: 'keys', action: 'create', keyName: name, expires: undefined, tenant } as const
  const lines = await manageKeys(app.database, { ...command, scopes: ['READ', 'RUN', 'MANAGE'] })
  return createGraphQLClient(app.url, { authorization: `Bearer ${lines.at(-1)!}` })
}

async function createConversation(client: GraphQLClient): Promise<string> {
  const { createConversation: created } = await client.data(
    'mutation ($input: CreateConversationInput!) { createConversation(input: $input) { conversation { id } } }',
    { input: { agentId: await talkTo(client).createAgent() } },
  )
  return created.conversation.id
}

test('[QUO82] a key has a limited number of runs at a time: the others wait, and other keys are not affected', async () => {
  const [one, other] = await Promise.all([createKey('one'), createKey('other')])
  const runs: string[] = []
  for (let count = 0; count < 4; count += 1)
    runs.push(await talkTo(one).start(await createConversation(one), 'go', { waitMs: 0 }))
  const calls = [await model.nextCall(), await model.nextCall()]
  const ofOther = await talkTo(other).start(await createConversation(other), 'go', { waitMs: 0 })
  // The runs of the first key are older, and would have reached the model first.
  calls.push(await model.nextCall())
  const statuses = async () => Promise.all([...runs, ofOther].map(async (id) => (await talkTo(one).run(id)).status))
  expect(await statuses()).toEqual(['RUNNING', 'RUNNING', 'QUEUED', 'QUEUED', 'RUNNING'])
  // One that ends makes room.
  for (const call of calls) call.finish()
  for (const call of [await model.nextCall(), await model.nextCall()]) call.finish()
  for (const id of runs) await talkTo(one).settled(id)
  await talkTo(other).settled(ofOther)
  expect(new Set(await statuses())).toEqual(new Set(['COMPLETED']))
})

const documentUrl = (kilobytes: number, fill: string) =>
  `data:text/plain;base64,${Buffer.alloc(kilobytes * 1024, fill).toString('base64')}`
const uploadFile = 'mutation ($input: UploadFileInput!) { uploadFile(input: $input) { file { id } } }'
const sendMessage = 'mutation ($input: SendMessageInput!) { sendMessage(input: $input) { __typename } }'

test('[QUO83] the files of a tenant have a limited size together, whatever brings them, and other tenants are not affected', async () => {
  const client = await createKey('files', 'full')
  const conversationId = await createConversation(client)
  const upload = (kilobytes: number, fill: string, to = { client, conversationId }) =>
    to.client.request(uploadFile, {
      input: { conversationId: to.conversationId, dataUrl: documentUrl(kilobytes, fill) },
    })
  expect((await upload(40, 'a')).errors).toBeUndefined()
  const refused = await upload(20, 'b')
  expect(refused.errors).toEqual([
    expect.objectContaining({
      message: expect.stringContaining('HOLDPOINT_TENANT_STORAGE'),
      extensions: { code: 'BAD_USER_INPUT', field: 'input.dataUrl' },
    }),
  ])
  const messages = [{ content: [{ documentUrl: documentUrl(20, 'c') }] }]
  const { errors } = await client.request(sendMessage, { input: { to: { conversationId }, messages } })
  expect(errors![0]!.extensions).toEqual({
    code: 'BAD_USER_INPUT',
    field: 'input.messages.0.content.0.documentUrl',
  })
  // Content that is already stored is not stored again, and a message without files is not refused.
  expect((await upload(40, 'a')).errors).toBeUndefined()
  const other = await createKey('files', 'empty')
  const ofOther = { client: other, conversationId: await createConversation(other) }
  expect((await upload(40, 'a', ofOther)).errors).toBeUndefined()
  await client.data('mutation ($id: ID!) { deleteConversation(input: { id: $id }) { __typename } }', {
    id: conversationId,
  })
  const next = { client, conversationId: await createConversation(client) }
  // The rows of a deleted conversation are deleted in the background.
  await expect.poll(async () => (await upload(20, 'b', next)).errors).toBeUndefined()
})

test('[TOK80] a start with a short HOLDPOINT_JWT_SECRET warns, without the secret', () => {
  const line = lines.find(({ msg }) => msg.includes('HOLDPOINT_JWT_SECRET'))
  expect(line).toMatchObject({ msg: expect.stringContaining('fewer than 32 bytes') })
  expect(JSON.stringify(line)).not.toContain('PLANTED')
})
