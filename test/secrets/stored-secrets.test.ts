import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { sealHeaders } from '../../src/domain/tools/sealed-headers.ts'
import type { OpenDatabase } from '../../src/store/database/open-database.ts'
import { createSecretBox } from '../../src/util/secret-box.ts'
import { startGround, type Ground } from '../approvals/ground.ts'
import { createTestDatabase } from '../support/database.ts'
import { startMcpServer, type TestMcpServer } from '../tools/mcp-server.ts'

const keyA = 'A'.repeat(32)
const keyB = 'B'.repeat(32)
const planted = 'planted-in-a-header'

let database: OpenDatabase
let http: Server
let mcp: TestMcpServer
const authorizations: unknown[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  http = createServer((request, response) => {
    authorizations.push(request.headers.authorization)
    response.end('ok')
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  mcp = await startMcpServer((server) => {
    server.registerTool('ping', { description: 'pong' }, () => ({ content: [{ type: 'text', text: 'pong' }] }))
  })
})
afterAll(async () => {
  http.closeAllConnections()
  http.close()
  await mcp.stop()
  await database.close()
})

/** A server with these keys on the shared database. */
async function withServer(secretKey: string | undefined, work: (ground: Ground) => Promise<void>): Promise<void> {
  const env = {
    HOLDPOINT_ALLOW_PRIVATE_NETWORK: '1',
    ...(secretKey !== undefined && { HOLDPOINT_SECRET_KEY: secretKey }),
  }
  const ground = await startGround({ env, database })
  try {
    await work(ground)
  } finally {
    await ground.app.stop()
  }
}

const upsert = 'mutation ($input: UpsertToolInput!) { upsertTool(input: $input) { tool { id headerNames } } }'
const toolInput = () => ({
  name: 'web',
  parameters: { type: 'object' },
  implementation: {
    http: { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/`, headers: { authorization: planted } },
  },
})

/** Calls both tools, and expects each server to get the header. */
async function expectUsable({ talk, call, answer }: Ground): Promise<void> {
  authorizations.length = 0
  mcp.headers.length = 0
  const agent = await talk.createAgent({ tools: ['web', 'ping'] })
  const runId = await talk.start(agent, 'go')
  await call(['web', {}], ['ping', {}])
  await answer('done')
  const run = await talk.settled(runId)
  expect(run.steps[0].toolCalls.map(({ status }: any) => status)).toEqual(['SUCCEEDED', 'SUCCEEDED'])
  expect(authorizations).toEqual([planted])
  expect(mcp.headers.every((headers) => headers['x-key'] === planted)).toBe(true)
}

/** Every row of the tables with secrets, as text. */
async function storedText(): Promise<string> {
  const { rows } = await database.pool.query(
    `select tools::text as row from tools where kind = 'HTTP' union all select mcp_servers::text from mcp_servers
     union all select tenants::text from tenants`,
  )
  return rows.map(({ row }) => row).join('\n')
}

test('[SEC1] without a key secrets are stored unencrypted, and a start with a key encrypts them', async () => {
  await withServer(undefined, async (ground) => {
    await ground.app.data(upsert, { input: toolInput() })
    await ground.app.data('mutation ($input: AddMcpServerInput!) { addMcpServer(input: $input) { server { id } } }', {
      input: { name: 'local', url: mcp.url, headers: { 'x-key': planted } },
    })
    await expectUsable(ground)
  })
  expect(await storedText()).toContain(planted)
  await withServer(keyA, expectUsable)
  const stored = await storedText()
  expect(stored).not.toContain(planted)
  expect(stored).not.toContain('hps_')
})

test('[SEC1] with a key, a secret is never stored unencrypted; setting the same value again changes nothing', async () => {
  await withServer(keyA, async (ground) => {
    const { app } = ground
    const { upsertTool } = await app.data(upsert, { input: { ...toolInput(), name: 'web2' } })
    expect(upsertTool.tool.headerNames).toEqual(['authorization'])
    const before = await storedText()
    expect(before).not.toContain(planted)
    await app.data(upsert, { input: { ...toolInput(), name: 'web2' } })
    const { auditLog } = await app.data('query ($id: ID!) { auditLog(filter: { subjectId: $id }) { totalCount } }', {
      id: upsertTool.tool.id,
    })
    expect(auditLog.totalCount).toBe(1)
    await app.data('mutation ($input: UpdateToolInput!) { updateTool(input: $input) { tool { id } } }', {
      input: { id: upsertTool.tool.id, description: 'kept headers' },
    })
    await expectUsable(ground)
  })
})

test('[SEC2] a key is replaced by a start with the new one first', async () => {
  const markOf = (key: string) => createSecretBox([key]).mark!
  expect(await storedText()).toContain(markOf(keyA))
  await withServer(`${keyB},${keyA}`, expectUsable)
  expect(await storedText()).not.toContain(markOf(keyA))
  await withServer(keyB, expectUsable)
})

test('[SEC2] a start without the key of the stored secrets fails, and names the key', async () => {
  const [, name] = /^sealed:1:(\w+):$/.exec(createSecretBox([keyB]).mark!)!
  for (const wrong of [undefined, keyA]) {
    await expect(withServer(wrong, async () => {})).rejects.toThrow(
      `encrypted with the key ${name}, which HOLDPOINT_SECRET_KEY does not contain`,
    )
  }
  await withServer(keyB, expectUsable)
})

test('[SEC3] an encrypted secret cannot be changed or moved to another tenant', () => {
  const box = createSecretBox([keyA])
  const sealed = box.seal(planted, 'tenant one')
  expect(box.seal(planted, 'tenant one')).not.toBe(sealed)
  expect(box.open(sealed, 'tenant one')).toBe(planted)
  expect(() => box.open(sealed, 'tenant two')).toThrow('was changed after it was encrypted')
  const at = sealed.length - 2
  const changed = sealed.slice(0, at) + (sealed[at] === 'A' ? 'B' : 'A') + sealed.slice(at + 1)
  for (const broken of [changed, sealed.slice(0, 30), createSecretBox([keyA]).mark!]) {
    expect(() => box.open(broken, 'tenant one')).toThrow('was changed after it was encrypted')
  }
})

test('[SEC3] a plain text that looks encrypted is kept unchanged', () => {
  const [none, box] = [createSecretBox([]), createSecretBox([keyA])]
  for (const text of ['sealed:1:x:y', 'sealed:plain:x', 'sealed:', '']) {
    const plain = none.seal(text, 'tenant')
    expect(none.open(plain, 'tenant')).toBe(text)
    expect(box.open(plain, 'tenant')).toBe(text)
    expect(box.open(box.seal(text, 'tenant'), 'tenant')).toBe(text)
  }
  const stored = sealHeaders(box, { one: '1' }, { tenantId: 't' })
  expect(sealHeaders(box, { one: '1', two: '2' }, { tenantId: 't', stored })['one']).toBe(stored['one'])
  expect(sealHeaders(box, { one: 'new' }, { tenantId: 't', stored })['one']).not.toBe(stored['one'])
})
