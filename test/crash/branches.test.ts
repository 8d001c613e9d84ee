import { randomUUID } from 'node:crypto'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { CrashCluster } from '../support/crash-cluster.ts'
import { longer } from '../support/long.ts'

/** Each adds three versions and three forks, which fit on one page. */
const kills = longer(2, 10)
let cluster: CrashCluster

beforeAll(async () => {
  cluster = await CrashCluster.start(2)
})
afterAll(() => cluster.stop())

test(
  '[BRA9] servers that are killed during edits, regenerations, selections and forks neither lose nor duplicate a version, and leave no incomplete fork',
  { timeout: 120_000 },
  async () => {
    const agentId = await cluster.createAgent()
    const ask = (document: string, variables: object) => cluster.ask(0, document, variables)
    const mutate = async (name: string, input: object, success: string): Promise<any> => {
      const type = `${name[0]!.toUpperCase()}${name.slice(1)}`
      // While the run of the previous version is active, the command is refused.
      for (;;) {
        const data = await ask(
          `mutation ($input: ${type}Input!) { ${name}(input: $input) { __typename ... on ${type}Success { ${success} } } }`,
          { input },
        )
        if (data[name].__typename === `${type}Success`) return data[name]
        await ask('query ($id: ID!) { run(id: $id, waitMs: 20000) { id } }', { id: versions.at(-1) })
      }
    }
    const versions: string[] = []
    const first = await mutate(
      'sendMessage',
      { to: { agentId }, messages: [{ text: 'first' }], idempotencyKey: randomUUID() },
      'run { id }',
    )
    versions.push(first.run.id)
    await ask('query ($id: ID!) { run(id: $id, waitMs: 20000) { id } }', { id: first.run.id })
    const { run } = await ask('query ($id: ID!) { run(id: $id) { messages { nodes { id } } } }', { id: first.run.id })
    const messageId = run.messages.nodes[0].id

    for (let kill = 0; kill < kills; kill++) {
      const died = new Promise((resolve) => setTimeout(resolve, Math.random() * 60)).then(() =>
        cluster.kill(kill % 2, undefined),
      )
      for (let more = 0; more < 3; more++) {
        const idempotencyKey = randomUUID()
        const message = { text: `version ${versions.length}` }
        const version =
          more % 2 === 0
            ? await mutate('editMessage', { messageId, message, idempotencyKey }, 'run { id }')
            : await mutate('regenerate', { runId: versions.at(-1), idempotencyKey }, 'run { id }')
        versions.push(version.run.id)
        await mutate('selectBranch', { runId: versions[0] }, 'conversation { id }')
        await mutate('forkConversation', { messageId, idempotencyKey: randomUUID() }, 'conversation { id }')
      }
      await died
      if (kill + 1 < kills) await cluster.startServer(kill % 2)
    }

    const { agent } = await ask(
      `query ($id: ID!) { agent(id: $id) { conversations(first: 45) { nodes { id runs(first: 35) { nodes {
        id status onCurrentBranch input { text } versions { id } } } messages(first: 20) { nodes { __typename } } } } } }`,
      { id: agentId },
    )
    const [main, ...forks] = agent.conversations.nodes
    expect(main.runs.nodes.map(({ id }: any) => id).toSorted()).toEqual(versions.toSorted())
    expect(main.runs.nodes.filter((one: any) => one.onCurrentBranch)).toMatchObject([{ id: versions[0] }])
    expect(main.runs.nodes[0].versions.map(({ id }: any) => id)).toEqual(versions)
    expect(forks).toHaveLength(3 * kills)
    for (const fork of forks) {
      expect(fork.runs.nodes).toMatchObject([{ onCurrentBranch: true, input: [{ text: 'first' }] }])
      expect(fork.messages.nodes).toEqual(main.messages.nodes)
    }
  },
)
