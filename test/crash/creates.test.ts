import { randomUUID } from 'node:crypto'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { CrashCluster } from '../support/crash-cluster.ts'
import { longer } from '../support/long.ts'

const kills = longer(2, 20)
let cluster: CrashCluster

beforeAll(async () => {
  cluster = await CrashCluster.start(2)
})
afterAll(() => cluster.stop())

test(
  '[IDM9] creates that are repeated after their servers were killed create each object once',
  { timeout: 120_000 },
  async () => {
    const made = new Set<string>()
    const create = async (mutation: string, selection: string, input: object): Promise<string> => {
      const type = `${mutation[0]!.toUpperCase()}${mutation.slice(1)}Input`
      const document = `mutation ($input: ${type}!) { made: ${mutation}(input: $input) { object: ${selection} { id } } }`
      const variables = { input: { ...input, idempotencyKey: randomUUID() } }
      const ask = () => cluster.ask(made.size, document, variables)
      // The first answer may be lost, and the second request may reach the other process.
      const [one, other] = await Promise.all([ask(), ask()])
      expect(other).toEqual(one)
      made.add(one.made.object.id)
      return one.made.object.id
    }
    for (let kill = 0; kill < kills; kill++) {
      const died = new Promise((resolve) => setTimeout(resolve, Math.random() * 60)).then(() =>
        cluster.kill(kill % 2, undefined),
      )
      for (let more = 0; more < 5; more++) {
        const agentId = await create('createAgent', 'agent', { name: 'made', model: 'demo/scripted' })
        await create('createConversation', 'conversation', { agentId, title: 'made' })
        await create('createBlock', 'block', { label: 'made', value: '' })
      }
      await died
      if (kill + 1 < kills) await cluster.startServer(kill % 2)
    }
    const everything = `query { agents(first: 200, filter: { nameContains: "made" }) { totalCount }
      blocks(first: 200) { totalCount } conversations(filter: { titleContains: "made" }) { totalCount } }`
    const data = await cluster.ask(0, everything)
    const each = { totalCount: 5 * kills }
    expect(data).toMatchObject({ agents: each, blocks: each, conversations: each })
    expect(made.size).toBe(15 * kills)
  },
)
