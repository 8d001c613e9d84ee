import { setTimeout as sleep } from 'node:timers/promises'

import { afterAll, beforeAll, expect, test } from 'vitest'

import {
  createAgent,
  expectNothingLost,
  hasRefusedAll,
  longMs,
  startOutageGround,
  startWaiting,
  submitApprovals,
  type OutageGround,
} from './ground.ts'
import { OutageLoad } from './load.ts'
import { longer } from '../../support/long.ts'
import { badLines } from '../../support/server-process.ts'

/** How long the database is unavailable at least. */
const awayMs = longer(1_000, longMs)
const silentMs = longer(0, longMs)
/** Conversations of each server. */
const conversations = longer(1, 5)

let ground: OutageGround
beforeAll(async () => {
  ground = await startOutageGround()
})
afterAll(() => ground.close())

/** Runs that wait for approval, and each server with so many conversations, in the middle of an answer. */
async function startLoad(count: number) {
  const { clients } = ground
  const load = new OutageLoad(clients)
  const agentId = await createAgent(load, clients[0]!)
  const waiting = await Promise.all(clients.map((client) => startWaiting(client, agentId)))
  for (let made = 0; made < count; made += 1) load.talk(agentId, 20)
  load.ask()
  // In the middle of an answer, with another run behind it.
  const inAnAnswer = () => load.followed.filter(({ reader }) => reader.live.size > 0).length
  await expect.poll(inAnAnswer).toBeGreaterThanOrEqual(count)
  return { load, waiting }
}

test(
  '[QUO80] while the database is away everyone is told to try again, no process dies, and no run or token is lost or doubled',
  { timeout: 240_000 + 4 * awayMs },
  async () => {
    const { proxy, servers, clients } = ground
    const { load, waiting } = await startLoad(conversations)

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
    expect(servers.flatMap((server) => badLines(server))).toEqual([])
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

test(
  '[QUO62] while the network to the database is silent everyone is told to try again, and afterwards no run or token is lost or doubled',
  { timeout: 300_000 + 4 * silentMs },
  async () => {
    const { proxy, servers, clients } = ground
    const { load, waiting } = await startLoad(1)

    const written = servers.map((server) => server.stderr().length)
    proxy.silence()
    const silent = sleep(silentMs)
    const decided = waiting.map(({ client, input }) => load.persist(client, submitApprovals, input))
    const haveLostTheirLock = () =>
      servers.every((server, index) => server.stderr().includes('the worker lost its lock', written[index]))
    await expect.poll(() => hasRefusedAll(load) && haveLostTheirLock(), { timeout: 120_000 }).toBe(true)
    await silent
    proxy.restore()

    await Promise.all(decided)
    const ended = load.followed.length
    const newEnds = () => load.followed.slice(ended).filter(({ reader }) => reader.end).length
    await expect.poll(newEnds, { timeout: 60_000 }).toBeGreaterThan(1)
    await load.stop()
    await expectNothingLost(
      load,
      clients[0]!,
      waiting.map(({ input }) => input.runId),
    )
    expect(servers.flatMap((server) => badLines(server))).toEqual([])
    // An outage is not the death of a worker.
    expect(servers.map((server) => server.stderr()).join()).not.toContain('a worker died')

    // A server that is stopped while the network is silent ends nevertheless.
    proxy.silence()
    servers[0]!.child.kill('SIGTERM')
    expect(await servers[0]!.ended).toEqual({ code: 0, signal: null })
    expect(servers[1]!.child.exitCode).toBe(null)
  },
)

function report(load: OutageLoad, during: OutageLoad['answered']): void {
  const times = during.filter(({ code }) => code !== undefined).map(({ ms }) => ms)
  const at = (share: number) => Math.round(times.toSorted((a, b) => a - b)[Math.floor(share * (times.length - 1))] ?? 0)
  const counts = { runs: load.followed.length, refused: times.length, resumedStreams: load.resumed.length }
  console.log(JSON.stringify({ awayMs, ...counts, refusalMs: { p50: at(0.5), p99: at(0.99), max: at(1) } }))
}
