import { afterAll, beforeAll, expect, test } from 'vitest'

import {
  badLines,
  createAgent,
  expectNothingLost,
  hasRefusedAll,
  startOutageGround,
  startWaiting,
  submitApprovals,
  type OutageGround,
} from './ground.ts'
import { OutageLoad } from './load.ts'

/** How long the database is unavailable. `npm run test:outage` sets 30 s. */
const awayMs = Number(process.env['HOLDPOINT_OUTAGE_MS'] ?? 2_000)
/** Conversations of each server. */
const conversations = Number(process.env['HOLDPOINT_CLIENTS'] ?? 2)

let ground: OutageGround
beforeAll(async () => {
  ground = await startOutageGround()
})
afterAll(() => ground.close())

test(
  '[QUO80] while the database is away everyone is told to try again, no process dies, and no run or token is lost or doubled',
  { timeout: 240_000 + 4 * awayMs },
  async () => {
    const { proxy, servers, clients } = ground
    const load = new OutageLoad(clients)
    const agentId = await createAgent(load, clients[0]!)
    const waiting = await Promise.all(clients.map((client) => startWaiting(client, agentId)))
    for (let count = 0; count < conversations; count += 1) load.talk(agentId, 40)
    load.ask()
    // In the middle of an answer, with another run behind it.
    const inAnAnswer = () => load.followed.filter(({ reader }) => reader.live.size > 0).length
    await expect.poll(inAnAnswer).toBeGreaterThanOrEqual(conversations)

    const before = load.answered.length
    const began = performance.now()
    proxy.cut()
    const decided = waiting.map(({ client, input }) => load.persist(client, submitApprovals, input))
    await expect
      .poll(() => performance.now() - began > awayMs && hasRefusedAll(load), { timeout: awayMs + 60_000 })
      .toBe(true)
    const during = load.answered.slice(before)
    proxy.restore()

    await Promise.all(decided)
    const ended = load.followed.length
    await expect.poll(() => load.followed.slice(ended).filter(({ reader }) => reader.end).length).toBeGreaterThan(3)
    await load.stop()
    await expectNothingLost(
      load,
      clients[0]!,
      waiting.map(({ input }) => input.runId),
    )
    expect(servers.map(({ child }) => child.exitCode)).toEqual([null, null])
    expect(servers.flatMap(badLines)).toEqual([])
    if (awayMs > 10_000) report(load, during)
  },
)

test('[QUO81] an outage is not the death of a worker: a run that several outages interrupt is not given up', async () => {
  const { proxy, clients } = ground
  const load = new OutageLoad(clients)
  const text = `slow 100\nsay ${'word '.repeat(20).trim()}`
  const following = load.sendAndFollow(clients[0]!, { agentId: await createAgent(load, clients[0]!) }, text)
  await expect.poll(() => load.followed.length).toBe(1)
  const { reader } = load.followed[0]!
  const restarts = () => reader.types.filter((type) => type === 'StepRestarted').length
  // More often than a run may kill workers, with nothing of the run stored in between.
  for (let outage = 1; outage <= 4; outage += 1) {
    await expect.poll(() => reader.live.size).toBeGreaterThan(0)
    proxy.cut()
    for (const client of clients)
      await expect.poll(async () => (await client.request('{ viewer { keyName } }')).status).toBe(503)
    proxy.restore()
    await expect.poll(restarts).toBe(outage)
  }
  await following
  expect([reader.end, load.faults]).toEqual(['COMPLETED', []])
})

function report(load: OutageLoad, during: OutageLoad['answered']): void {
  const times = during.filter(({ code }) => code !== undefined).map(({ ms }) => ms)
  const at = (share: number) => Math.round(times.toSorted((a, b) => a - b)[Math.floor(share * (times.length - 1))] ?? 0)
  const counts = { runs: load.followed.length, refused: times.length, resumedStreams: load.resumed.length }
  console.log(JSON.stringify({ awayMs, ...counts, refusalMs: { p50: at(0.5), p99: at(0.99), max: at(1) } }))
}
