import { afterAll, beforeAll, expect, test } from 'vitest'

import { CrashCluster } from '../support/crash-cluster.ts'
import type { FiringPoint } from '../support/kill-points.ts'

let cluster: CrashCluster

beforeAll(async () => {
  cluster = await CrashCluster.start(1)
})
afterAll(() => cluster.stop())

const createSchedule = `mutation ($input: CreateScheduleInput!) { createSchedule(input: $input) { schedule { id } } }`
const show = `query ($id: ID!) { schedule(id: $id) { nextTimes lastError
  runs { nodes { status schedule { id } } } } }`

async function fired(id: string, expected: number): Promise<any> {
  for (;;) {
    const { schedule } = await (await cluster.client(0)).data(show, { id })
    const runs = schedule.runs.nodes
    if (schedule.nextTimes.length === 0 && runs.every((run: any) => run.status === 'COMPLETED')) {
      expect(runs.length).toBe(expected)
      return schedule
    }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** All times are made up for by policy ONCE alone. With SKIP, only a time that a process watched makes a run. */
test.each<[FiringPoint, 'SKIP' | 'ONCE']>([
  ['schedule watched', 'SKIP'],
  ['schedule locked', 'SKIP'],
  ['due run stored', 'SKIP'],
  ['schedule moved on', 'ONCE'],
  ['fired', 'ONCE'],
])(
  '[DUE8] a process that is killed at "%s" makes one run of the due time, and so do all that follow',
  async (point, missed) => {
    const agentId = await cluster.createAgent()
    const client = await cluster.client(0)
    const at = new Date(Date.now() + 2_500).toISOString()
    const input = { name: point, agentId, at, missed, messages: [{ text: 'go' }] }
    const { createSchedule: created } = await client.data(createSchedule, { input })
    await cluster.kill(0, point)
    await Promise.all([cluster.startServer(0), cluster.startServer(1)])
    expect(await fired(created.schedule.id, 1)).toMatchObject({ lastError: null })
    // Alone again, so that the next due time reaches the server that is to die.
    await cluster.kill(1, undefined)
  },
)

test('[DUE9] a time at which no process was running makes no run with SKIP, and one with ONCE', async () => {
  const agentId = await cluster.createAgent()
  const client = await cluster.client(0)
  const at = new Date(Date.now() + 3_000)
  const ids: string[] = []
  for (const missed of ['SKIP', 'ONCE']) {
    const input = { name: missed, agentId, at: at.toISOString(), missed, messages: [{ text: 'go' }] }
    ids.push((await client.data(createSchedule, { input })).createSchedule.schedule.id)
  }
  await cluster.kill(0, undefined)
  expect(Date.now()).toBeLessThan(at.getTime() - 1_000)
  await new Promise((resolve) => setTimeout(resolve, at.getTime() - Date.now() + 10))
  await cluster.startServer(0)
  expect(await fired(ids[0]!, 0)).toMatchObject({ lastError: expect.stringContaining('SKIP') })
  expect(await fired(ids[1]!, 1)).toMatchObject({ lastError: null })
})
