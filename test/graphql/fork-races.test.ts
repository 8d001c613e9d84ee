import { afterAll, expect, test } from 'vitest'

import { startTestApp, type TestApp } from '../support/app.ts'
import { createTestDatabase } from '../support/database.ts'
import { hookDatabase } from '../support/gated-database.ts'
import { talkTo } from '../support/talk.ts'

/** Called once, before the commit of a transaction that deleted messages or a conversation. */
let beforeCommit: (() => Promise<void>) | undefined

const database = await createTestDatabase()
const haveDeleted = new WeakSet<object>()
const db = hookDatabase(database.pool, {
  // The sweep commits transactions of its own at the same time, in which nobody would wait for a lock.
  async before(statement, _parameters, transaction) {
    if (/^delete from "messages"|^update conversations set deleted_at/.test(statement)) haveDeleted.add(transaction)
    if (statement !== 'commit' || !haveDeleted.has(transaction)) return
    const hook = beforeCommit
    beforeCommit = undefined
    await hook?.()
  },
})
const app = await startTestApp({ database: { ...database, db } })
afterAll(async () => {
  await app.stop()
  await database.close()
})

/** Resolves once a statement waits for a lock. */
async function someoneWaits(): Promise<void> {
  for (;;) {
    const { rows } = await database.pool.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    if (rows.length > 0) return
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

test.for([
  ['clearConversation', 'mutation ($id: ID!) { clearConversation(input: { id: $id }) { __typename } }'],
  ['deleteConversation', 'mutation ($id: ID!) { deleteConversation(input: { id: $id }) { deletedId } }'],
] as const)(
  '[BRA10] a fork of a conversation with files during %s finds that the message is gone',
  async ([, document]) => {
    const agentId = await talkTo(app).createAgent({ model: 'demo/scripted' })
    const { createConversation } = await app.data(
      'mutation ($id: ID!) { createConversation(input: { agentId: $id }) { conversation { id } } }',
      { id: agentId },
    )
    const { id } = createConversation.conversation
    const image = { imageUrl: `data:image/png;base64,${btoa('pixel '.repeat(2_000))}` }
    const { sendMessage } = await app.data(
      `mutation ($input: SendMessageInput!) { sendMessage(input: $input) { ... on SendMessageSuccess {
        run { status messages { nodes { id } } } } } }`,
      { input: { to: { conversationId: id }, messages: [{ content: [image] }], waitMs: 20_000 } },
    )
    const [message] = sendMessage.run.messages.nodes
    let forked: ReturnType<TestApp['request']> | undefined
    beforeCommit = async () => {
      forked = app.request('mutation ($id: ID!) { forkConversation(input: { messageId: $id }) { __typename } }', {
        id: message.id,
      })
      await someoneWaits()
    }
    await app.data(document, { id })
    expect(await forked).toMatchObject({ errors: [{ extensions: { code: 'NOT_FOUND' } }] })
    const stored = async () => (await database.pool.query('select from file_contents')).rowCount
    await expect.poll(stored).toBe(0)
  },
)

test('[BRA80] an edit during clearConversation says that the message is gone, not its run', async () => {
  const talk = talkTo(app)
  const agentId = await talk.createAgent({ model: 'demo/scripted' })
  const { sendMessage } = await app.data(
    `mutation ($input: SendMessageInput!) { sendMessage(input: $input) { ... on SendMessageSuccess {
      run { conversation { id } messages { nodes { id } } } } } }`,
    { input: { to: { agentId }, messages: [{ text: 'say hello' }], waitMs: 10_000 } },
  )
  const { conversation, messages } = sendMessage.run
  const messageId = messages.nodes[0].id
  let editing: ReturnType<TestApp['request']> | undefined
  beforeCommit = async () => {
    editing = app.request('mutation ($input: EditMessageInput!) { editMessage(input: $input) { __typename } }', {
      input: { messageId, message: { text: 'say goodbye' } },
    })
    await someoneWaits()
  }
  const clear = 'mutation ($id: ID!) { clearConversation(input: { id: $id }) { __typename } }'
  await app.data(clear, { id: conversation.id })
  const { errors } = await editing!
  expect(errors![0]!.extensions.code).toBe('NOT_FOUND')
  expect(errors![0]!.message).toContain(messageId)
})
