import { randomUUID } from 'node:crypto'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { CrashCluster } from '../support/crash-cluster.ts'
import { CrashLoad } from '../support/crash-load.ts'

let cluster: CrashCluster
let load: CrashLoad
let conversation: string

beforeAll(async () => {
  cluster = await CrashCluster.start(2)
  load = new CrashLoad(cluster)
  const { agent } = await (
    await cluster.client(0)
  ).data('query ($id: ID!) { agent(id: $id) { mainConversation { id } } }', { id: await cluster.createAgent() })
  conversation = agent.mainConversation.id
})
afterAll(() => cluster.stop())

const points = ['files written', 'files committed'] as const
const dataUrl = (text: string) => `data:image/png;base64,${btoa(text.repeat(1_000))}`

/** Asks the first server, which dies from it, and then the other one. */
async function ask(document: string, variables: object): Promise<any> {
  const answer = await load.persist(0, (server) => server.data(document, variables))
  await cluster.death(0)
  return answer
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

test('[FIL11] a server that is killed while or after it stores an upload or a message neither loses nor doubles a file', async () => {
  await cluster.arm(0, 'files committed')
  const { uploadFile } = await ask(
    'mutation ($input: UploadFileInput!) { uploadFile(input: $input) { file { id } } }',
    { input: { conversationId: conversation, dataUrl: dataUrl('upload') } },
  )
  expect(await stored()).toEqual({ files: 1, kept: 0, contents: 1 })

  for (const [round, point] of points.entries()) {
    await cluster.startServer(0)
    await cluster.arm(0, point)
    const content = [{ fileId: uploadFile.file.id }, { imageUrl: dataUrl(`message ${round}`) }]
    const { sendMessage } = await ask(
      `mutation ($input: SendMessageInput!) { sendMessage(input: $input) { ... on SendMessageSuccess { run { id } } } }`,
      { input: { to: { conversationId: conversation }, messages: [{ content }], idempotencyKey: randomUUID() } },
    )
    expect(await stored()).toEqual({ files: round + 2, kept: round + 2, contents: round + 2 })
    const { run, urls } = await filesOf(sendMessage.run.id)
    expect(run.status).toBe('COMPLETED')
    const texts = ['upload', `message ${round}`].map((text) => text.repeat(1_000))
    expect(await Promise.all(urls.map(download))).toEqual(texts)
  }
  const { rows } = await cluster.database.pool.query('select from runs')
  expect(rows).toHaveLength(points.length)
})

test('[FIL11] a worker that is killed while or after it stores a result with files neither loses nor doubles one', async () => {
  for (const point of points) {
    await cluster.startServer(0)
    const before = await stored()
    const runs = await cluster.killByRun(0, point, 'slow 150 picture')
    const { run, urls } = await filesOf(runs.at(-1)!)
    expect(run).toMatchObject({ status: 'COMPLETED', attempts: 2 })
    expect(urls).toHaveLength(1)
    const [{ id }] = run.steps[0].toolCalls
    expect(await download(urls[0]!)).toBe(id.repeat(500))
    const { files, kept, contents } = before
    const count = runs.length
    expect(await stored()).toEqual({ files: files + count, kept: kept + count, contents: contents + count })
    const { rows } = await cluster.database.pool.query('select from effects where key = $1', [id])
    expect(rows).toHaveLength(point === 'files written' ? 2 : 1)
  }
})
