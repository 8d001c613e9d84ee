import { expect, onTestFinished, test } from 'vitest'

import { hashSecret } from '../../../src/auth/api-key-secret.ts'
import { manageKeys } from '../../../src/cli/manage-keys.ts'
import type { OpenDatabase } from '../../../src/store/database/open-database.ts'
import { eventFields, Reader, storedTexts } from '../../live/reader.ts'
import { transports } from '../../server/transports.ts'
import { createTestDatabase } from '../../support/database.ts'
import { createGraphQLClient, type GraphQLClient, type GraphQLResult } from '../../support/graphql-client.ts'
import { startPostgresProxy } from '../../support/postgres-proxy.ts'
import { badLines, spawnMain } from '../../support/server-process.ts'

/** Of a key, so that any machine can exceed it. A key may send twice that at once. */
const perSecond = 10
const query = '{ agents(first: 1) { nodes { id } } }'

test('[QUO63] a key that floods the server is refused without a statement, and another key and its run are not', async () => {
  const database = await createTestDatabase()
  const flooding = await createKey(database, 'flooding')
  const hash = hashSecret(flooding)
  let lookUps = 0
  const proxy = await startPostgresProxy(database.url, (data) => {
    if (data.includes(hash)) lookUps += 1
  })
  const env = { DATABASE_URL: proxy.url, LOG_LEVEL: 'warn', HOLDPOINT_KEY_REQUESTS: String(perSecond) }
  const server = spawnMain(['serve'], env)
  onTestFinished(async () => {
    server.child.kill('SIGTERM')
    await server.ended
    await proxy.close()
    await database.close()
  })
  const url = await server.ready()
  const quiet = createGraphQLClient(url, { authorization: `Bearer ${await createKey(database, 'quiet')}` })
  const began = performance.now()
  const flood = await startFlood(createGraphQLClient(url, { authorization: `Bearer ${flooding}` }))
  await expect.poll(() => flood.refused('HTTP')).toBeGreaterThan(100)
  const { runId, text } = await startRun(quiet)
  const read = readRun(quiet, runId)
  const answers: GraphQLResult[] = []
  for (let count = 0; count < 2; count += 1)
    for (const ask of Object.values(transports)) answers.push(await ask(quiet, { query }))
  expect(answers).toEqual(
    answers.map(() => expect.objectContaining({ data: { agents: { nodes: [{ id: expect.any(String) }] } } })),
  )
  const reader = await read
  expect([reader.end, reader.stored]).toEqual(['COMPLETED', await storedTexts(quiet, runId)])
  expect(reader.stored.map(([, written]) => written)).toEqual([text, text.replace(/^.*\nsay /, '')])
  await expect.poll(() => flood.refused('WebSocket')).toBeGreaterThan(100)
  await flood.stop()

  expect(flood.codes()).toEqual(['RATE_LIMITED'])
  // Every two seconds, the keys of open sockets are looked up once.
  const checks = 2 + (performance.now() - began) / 2_000
  expect(lookUps).toBeLessThanOrEqual(flood.served() + checks)
  expect(flood.refused('HTTP') + flood.refused('WebSocket')).toBeGreaterThan(flood.served())

  const strangers = await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      createGraphQLClient(url, { authorization: `Bearer hp_made_up_${index}` }).request(query),
    ),
  )
  expect(new Set(strangers.map(({ status, errors }) => `${status} ${errors![0]!.extensions.code}`))).toEqual(
    new Set(['401 UNAUTHENTICATED']),
  )
  expect((await quiet.request(query)).status).toBe(200)
  expect([server.child.exitCode, badLines(server)]).toEqual([null, []])
}, 180_000)

async function createKey(database: OpenDatabase, keyName: string): Promise<string> {
  const command = { name: 'keys', action: 'create', keyName, expires: undefined, tenant: undefined } as const
  return (await manageKeys(database, { ...command, scopes: ['READ', 'RUN', 'MANAGE'] })).at(-1)!
}

/** A run that takes a second or two. */
async function startRun(client: GraphQLClient): Promise<{ readonly runId: string; readonly text: string }> {
  const { createAgent } = await client.data(
    'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }',
    { input: { name: 'a', model: 'demo/scripted', includeBaseTools: false } },
  )
  const text = `slow 50\nsay ${'word '.repeat(30).trim()}`
  const { sendMessage } = await client.data(
    'mutation ($input: SendMessageInput!) { sendMessage(input: $input) { ... on SendMessageSuccess { run { id } } } }',
    { input: { to: { agentId: createAgent.agent.id }, messages: [{ text }] } },
  )
  return { runId: sendMessage.run.id, text }
}

async function readRun(client: GraphQLClient, runId: string): Promise<Reader> {
  const reader = new Reader()
  const socket = client.webSocket()
  const stream = socket.stream(`subscription ($run: ID!) { runEvents(runId: $run) { ${eventFields} } }`, { run: runId })
  for await (const { data, errors } of stream) {
    expect(errors).toBeUndefined()
    reader.apply(data.runEvents)
  }
  await socket.dispose()
  return reader
}

/** Sends as many requests as it can, by HTTP and on a socket, until it is stopped. */
async function startFlood(client: GraphQLClient) {
  const answers: { readonly transport: string; readonly code: string | undefined }[] = []
  const socket = client.webSocket()
  // The socket has to be open before the key is refused one.
  await socket.request(query)
  let isOver = false
  const ask = async (transport: string, send: () => Promise<GraphQLResult>) => {
    while (!isOver) answers.push({ transport, code: (await send()).errors?.[0]!.extensions.code })
  }
  const asking = Array.from({ length: 4 }, () => [
    ask('HTTP', () => client.request(query)),
    ask('WebSocket', () => socket.request(query)),
  ]).flat()
  return {
    refused: (transport: string) => answers.filter((one) => one.transport === transport && one.code).length,
    served: () => answers.filter(({ code }) => code === undefined).length,
    codes: () => [...new Set(answers.map(({ code }) => code))].filter((code) => code !== undefined),
    async stop() {
      isOver = true
      await Promise.all(asking)
      await socket.dispose()
    },
  }
}
