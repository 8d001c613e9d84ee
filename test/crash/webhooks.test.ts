import { afterAll, beforeAll, expect, test } from 'vitest'

import { CrashCluster } from '../support/crash-cluster.ts'
import type { KillPoint } from '../support/kill-points.ts'
import { talkTo } from '../support/talk.ts'
import { startReceiver, verify, type Receiver } from '../support/webhook-receiver.ts'

let cluster: CrashCluster
let receiver: Receiver

beforeAll(async () => {
  cluster = await CrashCluster.start(1)
  receiver = await startReceiver()
})
afterAll(async () => {
  await cluster.stop()
  await receiver.close()
})

const create = `mutation ($input: CreateWebhookInput!) { createWebhook(input: $input) { secret webhook { id } } }`
const send = `mutation ($input: SendMessageInput!) { sendMessage(input: $input) { ... on SendMessageSuccess { run { id } } } }`

test.each<KillPoint>(['before the end', 'after the end', 'delivery claimed', 'delivery sent', 'delivery stored'])(
  '[WHK8] a process that is killed at "%s" loses no delivery, and none is counted twice',
  async (point) => {
    const client = await cluster.client(0)
    const before = receiver.received.length
    const { createWebhook } = await client.data(create, { input: { url: receiver.url, events: ['RUN_ENDED'] } })
    const agentId = await cluster.createAgent()
    await cluster.arm(0, point)
    const runs: string[] = []
    for (let times = 0; times < 3; times += 1) {
      // Slow enough that all are accepted before the first one ends.
      const input = { to: { agentId }, messages: [{ text: 'go slow 100' }], whenBusy: 'ENQUEUE' }
      runs.push((await client.data(send, { input })).sendMessage.run.id)
    }
    await cluster.death(0)
    await cluster.startServer(0)
    for (const run of runs) await talkTo(await cluster.client(0)).settled(run)
    const told = () => {
      const byId = new Map(receiver.received.slice(before).map((delivery) => [delivery.id, delivery]))
      return [...byId.values()]
    }
    await receiver.until(() => told().length >= 3)
    const all = told()
    expect(all.map(({ event }) => event.data.run.id)).toEqual(runs)
    for (const delivery of all) verify(createWebhook.secret, delivery)
    const stored = `query ($id: ID!) { webhook(id: $id) { deliveries { nodes { status } } } }`
    const statuses = async () => {
      const { webhook } = await (await cluster.client(0)).data(stored, { id: createWebhook.webhook.id })
      return webhook.deliveries.nodes.map(({ status }: any) => status)
    }
    await expect.poll(statuses, { timeout: 10_000 }).toEqual(['DELIVERED', 'DELIVERED', 'DELIVERED'])
    await (
      await cluster.client(0)
    ).data('mutation ($input: DeleteWebhookInput!) { deleteWebhook(input: $input) { deletedId } }', {
      input: { id: createWebhook.webhook.id },
    })
  },
)
