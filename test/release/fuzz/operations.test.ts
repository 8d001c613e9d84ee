import { readFileSync } from 'node:fs'

import { buildSchema } from 'graphql'
import { SignJWT } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { manageKeys } from '../../../src/cli/manage-keys.ts'
import { createGraphQLClient, type GraphQLClient } from '../../support/graphql-client.ts'
import { createDriver } from './drive.ts'
import { createOperations } from './operations.ts'
import { createRandom, seed } from './random.ts'
import type { Known } from './values.ts'
import { longer } from '../../support/long.ts'
import { startOwnServer, type OwnServer } from '../../support/own-server.ts'

const operations = longer(300, 6_000)
const atOnce = 6
const schema = buildSchema(readFileSync(new URL('../../../schema.graphql', import.meta.url), 'utf8'))
const jwtSecret = 'the-secret-of-the-fuzzed-identity-provider'
let server: OwnServer
let tenants: readonly GraphQLClient[]

beforeAll(async () => {
  const unlimited = { HOLDPOINT_KEY_REQUESTS: '0', HOLDPOINT_TENANT_REQUESTS: '0' }
  const authorization = await bearer({})
  server = await startOwnServer({ HOLDPOINT_JWT_SECRET: jwtSecret, ...unlimited }, authorization)
  // Makes the tenant.
  const key = { keyName: 'unused', scopes: ['READ'], expires: undefined } as const
  await manageKeys(server.database, { name: 'keys', action: 'create', tenant: 'other', ...key })
  tenants = [server.client, createGraphQLClient(server.url, { authorization: await bearer({ tenant: 'other' }) })]
})
afterAll(() => server.stop())

/** A token instead of a key, because random operations would revoke a key. */
async function bearer(claims: Record<string, unknown>): Promise<string> {
  const token = new SignJWT({ scopes: ['READ', 'RUN', 'APPROVE', 'MANAGE'], ...claims })
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject('fuzzer')
    .setExpirationTime('2h')
  return `Bearer ${await token.sign(new TextEncoder().encode(jwtSecret))}`
}

test('[FUZ1] random operations of two tenants get data or a coded error, and nothing of the other', async () => {
  // Shared by both: each tries the ids and cursors of the other.
  const known: Known = { ids: [], cursors: [], names: [] }
  const owners = new Map<string, number>()
  const counts = new Map<string, number>()
  const faults: string[] = []
  // A fuzzer that is always refused proves little, so it continues until enough operations have succeeded.
  const hasProved = () =>
    (counts.get('query data') ?? 0) > operations / 20 && (counts.get('mutation data') ?? 0) > operations / 100
  for (const [tenant, client] of tenants.entries()) {
    const id = await createSomething(client)
    known.ids.push(id)
    owners.set(id, tenant)
  }
  // Each client has its own random choices, which do not depend on the order of answers.
  const clients = Array.from({ length: atOnce }, async (_, index) => {
    const random = createRandom(seed + index)
    const next = createOperations(schema, random, known)
    const tenant = index % tenants.length
    const isForeign = (id: string) => {
      if (!owners.has(id)) owners.set(id, tenant)
      return owners.get(id) !== tenant
    }
    const driver = createDriver(tenants[tenant]!, random, { known, isForeign })
    for (let sent = 0; sent < (hasProved() ? 1 : 10) * (operations / atOnce); sent += 1) {
      const operation = next()
      const outcome = await driver.send(operation).catch((error: unknown) => {
        faults.push(`${String(error)}\n  ${operation.query}\n  ${JSON.stringify(operation.variables)}`)
        return undefined
      })
      const what = `${operation.kind} ${outcome ? (outcome.codes[0] ?? 'data') : 'fault'}`
      counts.set(what, (counts.get(what) ?? 0) + 1)
    }
    await driver.close()
  })
  await Promise.all(clients)
  console.log(JSON.stringify({ seed, ...Object.fromEntries(counts) }))
  expect(faults.slice(0, 20), `seed ${seed}, ${faults.length} faults`).toEqual([])
  await server.assertSound()
  expect(hasProved(), JSON.stringify(Object.fromEntries(counts))).toBe(true)
}, 3_600_000)

/** Data to find: an agent with a conversation and a run. Returns the agent's id. */
async function createSomething(client: GraphQLClient): Promise<string> {
  const { createAgent } = await client.data(
    'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }',
    { input: { name: 'first', model: 'demo/scripted' } },
  )
  const input = { to: { agentId: createAgent.agent.id }, messages: [{ text: 'hello' }] }
  await client.data('mutation ($input: SendMessageInput!) { sendMessage(input: $input) { __typename } }', {
    input,
  })
  return createAgent.agent.id
}
