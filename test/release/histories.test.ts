import { setTimeout as sleep } from 'node:timers/promises'

import { describe, expect, onTestFinished, test } from 'vitest'

import { CrashCluster } from '../support/crash-cluster.ts'
import { checkHistory, HistoryLoad } from '../support/history.ts'
import { killPoints } from '../support/kill-points.ts'
import { longer } from '../support/long.ts'
import { haveRedis, startRedis } from '../support/redis.ts'

/** On each bus. `HOLDPOINT_KILLS` sets another number. */
const kills = Number(process.env['HOLDPOINT_KILLS'] ?? longer(8, 500))
const servers = 4
const clients = 6

async function startBus(name: string): Promise<Record<string, string>> {
  if (name === 'Postgres') return {}
  const redis = await startRedis()
  onTestFinished(() => redis.close())
  return { REDIS_URL: redis.url }
}

describe.each(['Postgres', 'Redis'])('over %s', (bus) => {
  test.skipIf(bus === 'Redis' && !haveRedis)(
    '[ENG90] four processes are killed at random while clients do everything: what they were told is what is stored',
    { timeout: 120_000 + kills * 10_000 },
    async () => {
      const cluster = await CrashCluster.start(servers, { suspectAfterMs: 2_000 }, await startBus(bus))
      onTestFinished(() => cluster.stop())
      const load = new HistoryLoad(cluster)
      await load.start(clients)
      let left = kills
      const startedAt = performance.now()
      await Promise.all(
        Array.from({ length: servers }, async (_, name) => {
          while (left > 0) {
            left -= 1
            await sleep(200 + Math.random() * 1_500)
            const points = [undefined, ...killPoints]
            await cluster.killSoon(name, points[Math.floor(Math.random() * points.length)])
            await cluster.startServer(name)
          }
        }),
      )
      const ms = performance.now() - startedAt
      await load.stop()
      await cluster.atRest()
      const verdict = await checkHistory(cluster, load.history)
      const { accepted, cancelled, decided, streamed, refused, faults } = load.history
      const counts = Object.fromEntries(
        Object.entries({ ...verdict, cancelled, streamed, refused, faults }).map(([name, list]) => [
          name,
          typeof list === 'number' ? list : list.length,
        ]),
      )
      console.log(JSON.stringify({ bus, kills, ...counts, decided: decided.size, seconds: Math.round(ms / 1_000) }))
      expect({ ...verdict, faults }).toEqual({
        ...{ runs: accepted.length, lost: [], doubled: [], malformed: [], stuck: [], faults: [] },
      })
      expect(accepted.length).toBeGreaterThan(clients)

      // The checker notices what is missing, and what is too much.
      const { text } = accepted.find((one) => one.text !== undefined)!
      await cluster.database.pool.query("delete from messages where type = 'USER' and content::text like $1", [
        `%"${text}"%`,
      ])
      await cluster.database.pool.query('insert into effects select * from effects')
      const { lost, doubled } = await checkHistory(cluster, load.history)
      expect([lost.length, doubled.length > 0]).toEqual([1, true])
    },
  )
})
