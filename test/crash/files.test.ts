import { randomUUID } from 'node:crypto'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { CrashCluster } from '../support/crash-cluster.ts'
import type { KillPoint } from '../support/kill-points.ts'

let cluster: CrashCluster
let conversation: string

beforeAll(async () => {
  cluster = await CrashCluster.start(2)
  conversation = await createConversation()
})
afterAll(() => cluster.stop())

const dataUrl = (text: string) => `data:image/png;base64,${btoa(text.repeat(1_000))}`
const sendMessage = `mutation ($input: SendMessageInput!) { sendMessage(input: $input) {
  ... on SendMessageSuccess { run { id } } } }`
const uploadFile = 'mutation ($input: UploadFileInput!) { uploadFile(input: $input) { file { id } } }'

async function createConversation(): Promise<string> {
  const { agent } = await (
    await cluster.client(0)
  ).data('query ($id: ID!) { agent(id: $id) { mainConversation { id } } }', { id: await cluster.createAgent() })
  return agent.mainConversation.id
}

/** Asks the first server, which reaches the point and stays there. The client asks the other server after its death. */
async function ask(point: KillPoint, document: string, variables: object) {
  const held = await cluster.hold(0, point)
  const lost = expect((await cluster.client(0)).data(document, variables)).rejects.toThrow('fetch failed')
  await held()
  return async (): Promise<any> => {
    await lost
    return (await cluster.client(0)).data(document, variables)
  }
}

/** The numbers of stored files, of files that something refers to, and of contents. */
async function stored(): Promise<{ files: number; kept: number; contents: number }> {
  const { rows } = await cluster.database.pool.query(
    `select count(*)::integer as files, count(*) filter (where expires_at is null)::integer as kept,
      (select count(*)::integer from file_contents) as contents from files`,
  )
  return rows[0]
}

async function download(url: string): Promise<string> {
  const response = await cluster.download(url)
  expect(response.status).toBe(200)
  return response.text()
}

/** Waits for the run, and returns the file parts of its messages and returns. */
async function filesOf(runId: string): Promise<{ run: any; urls: string[] }> {
  const { run } = await (
    await cluster.client(1)
  ).data(
    `query ($id: ID!) { run(id: $id, waitMs: 20000) { status attempts steps { toolCalls { id } } messages { nodes {
      ... on UserMessage { content { file { url } } }
      ... on ToolReturnMessage { toolReturns { content { file { url } } } } } } } }`,
    { id: runId },
  )
  const parts = run.messages.nodes.flatMap((message: any) => [
    ...(message.content ?? []),
    ...(message.toolReturns ?? []).flatMap((one: any) => one.content),
  ])
  return { run, urls: parts.flatMap((part: any) => (part.file ? [part.file.url] : [])) }
}

test.each([
  ['while it stores', 'files written'],
  ['after it stored', 'files committed'],
] as const)(
  '[FIL11] a server that is killed %s the files of an upload, a message and a result neither loses nor doubles one',
  async (when, point) => {
    const uploaded = await (
      await cluster.client(1)
    ).data(uploadFile, { input: { conversationId: conversation, dataUrl: dataUrl(`upload before ${when}`) } })
    const before = await stored()
    const upload = await ask(point, uploadFile, {
      input: { conversationId: await createConversation(), dataUrl: dataUrl(`upload ${when}`) },
    })
    const content = [{ fileId: uploaded.uploadFile.file.id }, { imageUrl: dataUrl(`message ${when}`) }]
    const message = await ask(point, sendMessage, {
      input: { to: { conversationId: conversation }, messages: [{ content }], idempotencyKey: randomUUID() },
    })
    const runs = await cluster.holdRun(0, point, 'picture')
    await cluster.kill(0, undefined)

    expect(await upload()).toEqual({ uploadFile: { file: { id: expect.stringMatching(/^file_/) } } })
    const sent = (await message()).sendMessage.run.id
    const texts = [`upload before ${when}`, `message ${when}`].map((text) => text.repeat(1_000))
    const { run, urls } = await filesOf(sent)
    expect(run.status).toBe('COMPLETED')
    expect(await Promise.all(urls.map(download))).toEqual(texts)

    const result = await filesOf(runs.at(-1)!)
    expect(result.run).toMatchObject({ status: 'COMPLETED', attempts: 2 })
    expect(result.urls).toHaveLength(1)
    const [{ id }] = result.run.steps[0].toolCalls
    expect(await download(result.urls[0]!)).toBe(id.repeat(500))
    const { rows: effects } = await cluster.database.pool.query('select from effects where key = $1', [id])
    expect(effects).toHaveLength(point === 'files written' ? 2 : 1)

    // Nothing refers to the upload. The message refers to the file that was uploaded before.
    const { files, kept, contents } = before
    const count = 2 + runs.length
    expect(await stored()).toEqual({ files: files + count, kept: kept + count, contents: contents + count })
    const { rows } = await cluster.database.pool.query('select from runs where conversation_id = $1::uuid', [
      conversation.slice('conv_'.length),
    ])
    expect(rows).toHaveLength(point === 'files written' ? 1 : 2)
    if (point === 'files written') await cluster.startServer(0)
  },
)
