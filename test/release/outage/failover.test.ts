import { describe, expect, onTestFinished, test } from 'vitest'

import type { GraphQLClient } from '../../support/graphql-client.ts'
import { havePostgres, startPostgres } from '../../support/postgres-servers.ts'
import { badLines } from '../../support/server-process.ts'
import { createAgent, expectNothingLost, startOutageGround, startWaiting, submitApprovals } from './ground.ts'
import { OutageLoad } from './load.ts'

/** How soon after the move something must have been acknowledged. */
const firstAnswerMs = 5_000
const movedLine = 'the database has moved to another server'

describe.skipIf(!havePostgres)('a failover to a synchronous standby, under load', () => {
  test.each([
    { title: 'the old connections break with the old primary', isKilled: true },
    { title: 'the old connections are left open, to a primary whose commits never end', isKilled: false },
  ])(
    '[QUO66] nothing acknowledged is lost, doubled or stuck, and work goes on within five seconds: $title',
    { timeout: 120_000 },
    async ({ isKilled }) => {
      const primary = await startPostgres()
      onTestFinished(() => primary.kill())
      await primary.execute('create database holdpoint')
      const url = primary.url.replace(/postgres$/, 'holdpoint')
      const ground = await startOutageGround({ url, hastens: false })
      onTestFinished(() => ground.close())
      const standby = await primary.startStandby()
      onTestFinished(() => standby.kill())

      const { clients, servers, proxy } = ground
      // Nothing keeps a server from reading the old primary until it notices that the database has moved.
      const isBehind = (client: GraphQLClient) =>
        !isKilled && !servers[clients.indexOf(client)]!.stderr().includes(movedLine)
      const load = new OutageLoad(clients, isBehind)
      const agentId = await createAgent(load, clients[0]!)
      const waiting = await Promise.all(clients.map((client) => startWaiting(client, agentId)))
      for (let made = 0; made < 3; made += 1) load.talk(agentId, 20)
      load.ask()
      const inAnAnswer = () => load.followed.filter(({ reader }) => reader.live.size > 0).length
      await expect.poll(inAnAnswer).toBeGreaterThanOrEqual(3)

      if (isKilled) await primary.kill()
      const decided = waiting.map(({ client, input }) => load.persist(client, submitApprovals, input))
      await standby.promote()
      proxy.move(standby.url)
      const moved = performance.now()
      const answered = await Promise.all(
        clients.map(async (client) => {
          await load.persist(
            client,
            'mutation ($input: CreateConversationInput!) { createConversation(input: $input) { conversation { id } } }',
            { agentId },
          )
          return performance.now() - moved
        }),
      )
      await Promise.all(decided)
      const ended = load.followed.length
      await expect.poll(() => load.followed.slice(ended).filter(({ reader }) => reader.end).length).toBeGreaterThan(3)
      await load.stop()

      expect(Math.min(...answered)).toBeLessThan(firstAnswerMs)
      await expectNothingLost(
        load,
        clients[0]!,
        waiting.map(({ input }) => input.runId),
      )
      expect(servers.map(({ child }) => child.exitCode)).toEqual([null, null])
      expect(servers.flatMap((server) => badLines(server))).toEqual([])
      // An outage is not the death of a worker. If connections stay open, a server that has moved already may take another
      // one for dead that has not noticed yet. That costs its runs an attempt and nothing more.
      if (isKilled) expect(servers.map(({ stderr }) => stderr()).join()).not.toContain('a worker died')
      else for (const { stderr } of servers) expect(stderr()).toContain(movedLine)
      console.log(JSON.stringify({ isKilled, answeredMs: answered.map(Math.round), runs: load.followed.length }))
    },
  )
})

test.skipIf(!havePostgres)(
  '[QUO67] a server that is stopped while no commit ends, because its standby is away, ends nevertheless',
  { timeout: 60_000 },
  async () => {
    const primary = await startPostgres()
    onTestFinished(() => primary.kill())
    await primary.execute('create database holdpoint')
    const ground = await startOutageGround({ url: primary.url.replace(/postgres$/, 'holdpoint'), hastens: false })
    onTestFinished(() => ground.close())
    await primary.execute("alter system set synchronous_standby_names = '*'")
    await primary.execute('select pg_reload_conf()')
    const [server] = ground.servers
    const [client] = ground.clients
    const hanging = client!.request(
      'mutation { createAgent(input: { name: "a", model: "demo/scripted" }) { agent { id } } }',
    )
    const isWaiting = "select from pg_stat_activity where wait_event = 'SyncRep'"
    await expect.poll(() => primary.execute(isWaiting)).not.toEqual([])
    server!.child.kill('SIGTERM')
    expect(await server!.ended).toEqual({ code: 0, signal: null })
    await hanging.catch(() => undefined)
  },
)
