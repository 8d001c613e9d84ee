import { setTimeout as sleep } from 'node:timers/promises'

import { expect, onTestFinished, test } from 'vitest'

import { openDatabase } from '../../src/store/open-database.ts'
import { isTransientFailure } from '../../src/store/transient-failure.ts'
import { createLog } from '../../src/util/log.ts'
import { createTestDatabase } from '../support/database.ts'
import { startPostgresProxy } from '../support/postgres-proxy.ts'
import {
  badLines,
  createAgent,
  expectNothingLost,
  hasRefusedAll,
  startOutageGround,
  startWaiting,
  submitApprovals,
} from './ground.ts'
import { OutageLoad } from './load.ts'

/** How long the network is silent at least. `npm run test:outage` sets 30 s, after which a heartbeat is too old. */
const silentMs = Number(process.env['HOLDPOINT_OUTAGE_MS'] ?? 0)

async function openThroughProxy() {
  const database = await createTestDatabase()
  const proxy = await startPostgresProxy(database.url)
  const log = createLog('silent')
  const through = await openDatabase(proxy.url, { log, silence: { lookMs: 50, answerMs: 3_000 } })
  onTestFinished(async () => {
    await through.close()
    await proxy.close()
    await database.close()
  })
  return { database, proxy, through }
}

test('[QUO61] a statement without an answer fails when the network is silent, and the pool recovers with the network', async () => {
  const { database, proxy, through } = await openThroughProxy()
  await database.pool.query('create table marks (mark text)')
  await through.pool.query('select 1')
  proxy.silence()
  const failure = await through.pool.query("insert into marks values ('late')").catch((error: unknown) => error)
  expect(isTransientFailure(failure)).toBe(true)
  // A new connection does not hang either.
  const next = await through.pool.query('select 1').catch((error: unknown) => error)
  expect(isTransientFailure(next)).toBe(true)
  proxy.restore()
  expect((await through.pool.query('select 2 as two')).rows).toEqual([{ two: 2 }])
  // The statement that was given up arrived all the same: a failure of this kind says nothing about what is stored.
  await expect.poll(async () => (await database.pool.query('select mark from marks')).rows).toEqual([{ mark: 'late' }])
})

test('[QUO61] a statement that takes long is left alone as long as the database answers', async () => {
  const { through } = await openThroughProxy()
  const { rows } = await through.pool.query("select 'done' as word, pg_sleep(2)")
  expect(rows[0].word).toBe('done')
})

test(
  '[QUO62] while the network to the database is silent everyone is told to try again, and afterwards no run or token is lost or doubled',
  { timeout: 300_000 + 4 * silentMs },
  async () => {
    const ground = await startOutageGround()
    onTestFinished(() => ground.close())
    const { proxy, servers, clients } = ground
    const load = new OutageLoad(clients)
    const agentId = await createAgent(load, clients[0]!)
    const waiting = await Promise.all(clients.map((client) => startWaiting(client, agentId)))
    load.talk(agentId, 40)
    load.ask()
    const inAnAnswer = () => load.followed.filter(({ reader }) => reader.live.size > 0).length
    await expect.poll(inAnAnswer).toBeGreaterThanOrEqual(1)

    proxy.silence()
    const silent = sleep(silentMs)
    const decided = waiting.map(({ client, input }) => load.persist(client, submitApprovals, input))
    const haveLostTheirLock = () => servers.every((server) => server.stderr().includes('the worker lost its lock'))
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
    expect(servers.flatMap(badLines)).toEqual([])
    // An outage is not the death of a worker.
    expect(servers.map((server) => server.stderr()).join()).not.toContain('a worker died')

    // A server that is stopped while the network is silent ends nevertheless.
    proxy.silence()
    servers[0]!.child.kill('SIGTERM')
    expect(await servers[0]!.ended).toEqual({ code: 0, signal: null })
    expect(servers[1]!.child.exitCode).toBe(null)
  },
)
