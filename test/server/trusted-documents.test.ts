import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client/core'
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries'
import { print } from 'graphql'
import { afterAll, expect, it } from 'vitest'
import { WebSocket } from 'ws'

import * as clientDocuments from '../../client/documents.ts'
import { followRun } from '../../client/follow-run.ts'
import * as consoleDocuments from '../../console/data/documents.ts'
import { readConfig } from '../../src/config/config.ts'
import { schema } from '../../src/graphql/schema.ts'
import { createTrustedDocuments } from '../../src/server/limits/trusted-documents.ts'
import { openEventClient, openSocketClient } from '../client/ground.ts'
import { startTestApp } from '../support/app.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'

const hashOf = (text: string, algorithm = 'sha256') => createHash(algorithm).update(text).digest('hex')
const agents = 'query Agents { agents { totalCount } }'
const viewer = 'query Viewer { viewer { __typename } }'
const createAgent =
  'mutation New($name: String!) { createAgent(input: { name: $name, model: "demo/scripted" }) { agent { id } } }'
const events = 'subscription Events($id: ID!) { runEvents(runId: $id) { ... on RunStatusChanged { status } } }'

const folder = await makeTemporaryFolder()
const documents = {
  [hashOf(agents)]: agents,
  [`sha256:${hashOf(viewer)}`]: viewer,
  [hashOf(createAgent, 'sha1')]: createAgent,
  [hashOf(events, 'md5')]: events,
  'agents-v1': agents,
}
const app = await startTestApp({ env: { HOLDPOINT_TRUSTED_DOCUMENTS: write('documents.json', documents) } })
afterAll(() => app.stop())

function write(name: string, content: unknown): string {
  const path = join(folder, name)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

type Body = Readonly<Record<string, unknown>>
const persisted = (sha256Hash: string): Body => ({ extensions: { persistedQuery: { version: 1, sha256Hash } } })

/** What the server answers to a request body or its like, over each transport. */
const transports: Record<string, (body: Body) => Promise<any>> = {
  POST: (body) => app.request('', {}, { body: JSON.stringify(body) }),
  async GET(body) {
    const entries = Object.entries(body).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ])
    const response = await fetch(`${app.url}?${new URLSearchParams(Object.fromEntries(entries))}`, {
      headers: { accept: 'application/graphql-response+json' },
    })
    return { status: response.status, ...((await response.json()) as object) }
  },
  async SSE(body) {
    const response = await fetch(app.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify(body),
    })
    return JSON.parse(/^data: (.*)$/m.exec(await response.text())![1]!)
  },
  WebSocket: (body) =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(app.url.replace('http', 'ws'), 'graphql-transport-ws')
      socket.on('open', () => socket.send('{"type":"connection_init"}'))
      socket.on('close', (code, reason) => reject(new Error(`${code} ${String(reason)}`)))
      socket.on('message', (data) => {
        const message = JSON.parse(String(data))
        if (message.type === 'connection_ack')
          return socket.send(JSON.stringify({ type: 'subscribe', id: '1', payload: body }))
        if (message.type === 'next') resolve(message.payload)
        if (message.type === 'error') resolve({ errors: message.payload })
        socket.terminate()
      })
    }),
}

it.each(Object.keys(transports))(
  '[SRV83] over %s, a trusted document is executed by its id or its text',
  async (name) => {
    const ask = transports[name]!
    const data = { agents: { totalCount: expect.any(Number) } }
    for (const body of [
      persisted(hashOf(agents)),
      { documentId: hashOf(agents) },
      { documentId: `sha256:${hashOf(agents)}` },
      { id: 'agents-v1' },
      { doc_id: 'agents-v1' },
      { query: '', documentId: 'agents-v1' },
      { query: agents },
      { query: agents, ...persisted(hashOf(agents)) },
    ])
      expect(await ask(body), JSON.stringify(body)).toMatchObject({ data })
    expect(await ask({ documentId: hashOf(viewer) })).toMatchObject({ data: { viewer: { __typename: 'Viewer' } } })
  },
)

it.each(Object.keys(transports))('[SRV83] over %s, anything else is refused with a code', async (name) => {
  const ask = transports[name]!
  const other = '{ agents { nodes { id } } }'
  for (const body of [
    { query: other },
    { query: other, documentId: 'agents-v1' },
    { query: '{ __schema { queryType { name } } }' },
    { documentId: hashOf(other) },
    persisted(hashOf(other)),
    { id: 'constructor' },
  ]) {
    const { data, errors } = await ask(body)
    expect([data, errors[0].extensions.code, errors[0].message], JSON.stringify(body)).toEqual([
      undefined,
      'BAD_REQUEST',
      expect.stringContaining('trusted document'),
    ])
  }
})

it('[SRV83] a mutation and a subscription are executed by their ids', async () => {
  const made = await transports['POST']!({ documentId: hashOf(createAgent, 'sha1'), variables: { name: 'Ada' } })
  expect(made.data.createAgent.agent.id).toMatch(/^agent_/)
  const byGet = await transports['GET']!({ documentId: hashOf(createAgent, 'sha1'), variables: { name: 'Eve' } })
  expect(byGet).toMatchObject({ status: 405 })

  const to = { agentId: made.data.createAgent.agent.id }
  const { data } = await app.request(clientDocuments.SendMessage, { input: { to, messages: [{ text: 'say Hello.' }] } })
  const socket = app.webSocket()
  const { extensions } = persisted(hashOf(events, 'md5'))
  const payload = { query: '', variables: { id: data.sendMessage.run.id }, extensions: extensions as Body }
  const statuses: unknown[] = []
  for await (const event of socket.client.iterate<any>(payload)) statuses.push(event.data.runEvents.status)
  expect(statuses).toContain('COMPLETED')
  await socket.dispose()
})

it("[SRV83] Apollo's link of persisted queries works with a manifest", async () => {
  const query = gql('query Agents { agents { totalCount __typename } }')
  const body = print(query)
  const operations = [{ id: hashOf(body), name: 'Agents', type: 'query', body }]
  const manifest = { format: 'apollo-persisted-query-manifest', version: 1, operations }
  const own = await startTestApp({ env: { HOLDPOINT_TRUSTED_DOCUMENTS: write('manifest.json', manifest) } })
  const client = new ApolloClient({
    cache: new InMemoryCache(),
    link: new PersistedQueryLink({ generateHash: (document) => hashOf(print(document)) }).concat(
      new HttpLink({ uri: own.url }),
    ),
  })
  try {
    expect((await client.query({ query })).data).toMatchObject({ agents: { totalCount: 0 } })
    await expect(
      client.query({ query: gql('query Other { agents { totalCount } }'), fetchPolicy: 'no-cache' }),
    ).rejects.toThrow('trusted document')
  } finally {
    await own.stop()
  }
})

it('[SRV84] the documents of the console and of the client library are trusted, and GraphiQL is off', async () => {
  const given = new Map([['agents-v1', agents]])
  const texts = (documents: object) => Object.values(documents).filter((value) => typeof value === 'string')
  const withConsole = createTrustedDocuments(schema, given, { console: true }).texts
  expect([...withConsole].toSorted()).toEqual(
    [...new Set([agents, ...texts(clientDocuments), ...texts(consoleDocuments)])].toSorted(),
  )
  const withoutConsole = createTrustedDocuments(schema, given, { console: false }).texts
  expect([...withoutConsole].toSorted()).toEqual([agents, ...texts(clientDocuments)].toSorted())
  const page = await fetch(app.url, { headers: { accept: 'text/html' } })
  expect(page.headers.get('content-type')).not.toContain('html')
})

it.each([
  ['sockets', openSocketClient],
  ['event streams', openEventClient],
] as const)('[SRV84] the client library works over %s', async (_name, open) => {
  const made = await transports['POST']!({ documentId: hashOf(createAgent, 'sha1'), variables: { name: 'Ada' } })
  const { client, close } = open(app.url)
  const to = { agentId: made.data.createAgent.agent.id as string }
  const { sendMessage } = await client.request(clientDocuments.SendMessage, {
    input: { to, messages: [{ text: 'say Hello.' }] },
  })
  const { run } = sendMessage as unknown as { run: { id: string } }
  const answer = await new Promise((resolve, reject) => {
    followRun(client, run.id, { onEnd: ({ state }) => resolve(JSON.stringify(state)), onError: reject })
  })
  expect(answer).toContain('Hello.')
  await close()
})

it('[CFG80] a file of trusted documents that cannot be used stops the start with one line', () => {
  const refusalOf = (content: unknown) => {
    const path = write('broken.json', content)
    try {
      const config = readConfig({ HOLDPOINT_TRUSTED_DOCUMENTS: path })
      createTrustedDocuments(schema, config.HOLDPOINT_TRUSTED_DOCUMENTS!, { console: false })
      return undefined
    } catch (error) {
      return (error as Error).message.replace(path, 'FILE')
    }
  }
  expect(refusalOf('{')).toMatch(
    /^HOLDPOINT_TRUSTED_DOCUMENTS: the file cannot be read as JSON or YAML: .* \(FILE\)\.$/,
  )
  expect(refusalOf([])).toMatch(/: the file must be an object with documents by their hash, or Apollo's .* \(FILE\)\.$/)
  expect(refusalOf({})).toMatch(/: the file must be an object with documents/)
  expect(refusalOf({ format: 'apollo-persisted-query-manifest' })).toMatch(
    /: the file must be an object with documents/,
  )
  expect(refusalOf({ a: 1 })).toBe(
    'HOLDPOINT_TRUSTED_DOCUMENTS: the file has no document for "a": expected an id and its text (FILE).',
  )
  expect(refusalOf({ format: 'apollo-persisted-query-manifest', operations: [{ body: agents }] })).toMatch(
    /: the file has an operation without an id: expected an id and its text/,
  )
  for (const [algorithm, given] of [
    ['sha256', hashOf(viewer)],
    ['sha256', `sha256:${hashOf(viewer)}`],
    ['sha1', hashOf(viewer, 'sha1')],
    ['md5', hashOf(viewer, 'md5')],
  ])
    expect(refusalOf({ [given!]: agents })).toBe(
      `HOLDPOINT_TRUSTED_DOCUMENTS: the file has "${given}", which looks like a ${algorithm} hash, but it is not the one of its document (FILE).`,
    )
  expect(refusalOf({ a: '{ agents' })).toMatch(/^HOLDPOINT_TRUSTED_DOCUMENTS: the document "a": Syntax Error: .*$/)
  expect(refusalOf({ a: '{ nothing }' })).toMatch(/the document "a": Cannot query field "nothing" on type "Query"\.$/)
  expect(() => readConfig({ HOLDPOINT_TRUSTED_DOCUMENTS: join(folder, 'none.json') })).toThrow(
    /^HOLDPOINT_TRUSTED_DOCUMENTS: the file cannot be read as JSON or YAML: ENOENT/,
  )
})
