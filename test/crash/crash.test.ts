import { afterAll, beforeAll, expect, test } from 'vitest'

import { CrashCluster } from '../support/crash-cluster.ts'
import { checkHistory, HistoryLoad } from '../support/history.ts'
import { killPoints } from '../support/kill-points.ts'
import { longer } from '../support/long.ts'

/** In the short version, each named point is used once. */
const kills = longer(killPoints.length + 1, 200)
/** The last of so many kills is at a random time. */
const randomEvery = kills > 10 ? 3 : killPoints.length + 1
const clients = 6
const servers = 3
let cluster: CrashCluster

beforeAll(async () => {
  cluster = await CrashCluster.start(servers)
})
afterAll(() => cluster.stop())

test(
  '[ENG12] if processes are killed at random times and at named points, nothing is lost, doubled or stuck',
  { timeout: 60_000 + kills * 10_000 },
  async () => {
    const load = new HistoryLoad(cluster)
    await load.start(clients)
    const takenOver: Promise<number[]>[] = []
    const started: Promise<void>[] = Array.from({ length: servers }, () => Promise.resolve())
    for (let kill = 0; kill < kills; kill++) {
      const name = kill % servers
      await started[name]
      const isRandom = kill % randomEvery === randomEvery - 1
      const point = isRandom ? undefined : killPoints[(kill - Math.floor(kill / randomEvery)) % killPoints.length]
      if (point === undefined) await new Promise((resolve) => setTimeout(resolve, Math.random() * 100))
      const diedAt = await cluster.kill(name, point)
      // The death is not noticed yet: the dead worker still has its runs.
      takenOver.push(timeToGoOn(await heldRuns(), diedAt))
      // The last ones stay dead, except for one.
      if (kill + servers <= kills) started[name] = cluster.startServer(name)
    }
    await Promise.all(started)
    const times = (await Promise.all(takenOver)).flat().toSorted((one, other) => one - other)
    await load.stop()
    await cluster.atRest()
    const verdict = await checkHistory(cluster, load.history)
    const at = (share: number) => Math.round(times[Math.floor(share * (times.length - 1))] ?? 0)
    const takeOverMs = { p50: at(0.5), p90: at(0.9), max: at(1) }
    console.log(JSON.stringify({ runs: verdict.runs, kills, takenOver: times.length, takeOverMs }))

    expect(load.history.faults).toEqual([])
    expect(verdict).toMatchObject({ lost: [], doubled: [], malformed: [], stuck: [] })
    expect(verdict.runs).toBeGreaterThan(clients)
    // The time is printed, not tested. Noticing only the missing heartbeat would take half a minute.
    expect(at(0.5)).toBeLessThan(20_000)
  },
)

/** The runs that are being driven, by worker. */
async function heldRuns(): Promise<Map<string, string[]>> {
  const { rows } = await cluster.database.pool.query<{ worker_id: string; ids: string[] }>(
    'select worker_id, array_agg(id) as ids from runs where worker_id is not null group by worker_id',
  )
  return new Map(rows.map((row) => [row.worker_id, row.ids]))
}

/** How long it took until another worker took up each run of the dead worker, or until the run ended. */
async function timeToGoOn(held: ReadonlyMap<string, readonly string[]>, diedAt: number): Promise<number[]> {
  const { pool } = cluster.database
  const times: number[] = []
  const waiting = new Map([...held].flatMap(([worker, ids]) => ids.map((id) => [id, worker] as const)))
  for (;;) {
    const { rows: alive } = await pool.query<{ id: string }>('select id from workers')
    const dead = [...held.keys()].filter((worker) => !alive.some(({ id }) => id === worker))
    const { rows } = await pool.query<{ id: string }>(
      'select id from runs where not ended and id = any($1::uuid[]) and worker_id = any($2::uuid[])',
      [[...waiting.keys()], [...held.keys()]],
    )
    for (const [id, worker] of waiting) {
      if (rows.some((row) => row.id === id)) continue
      waiting.delete(id)
      if (dead.includes(worker)) times.push(performance.now() - diedAt)
    }
    const left = [...waiting.values()].some((worker) => dead.includes(worker))
    if (performance.now() - diedAt > 1_500 && !left) return times
    if (performance.now() - diedAt > 20_000) throw new Error('runs of a dead worker did not go on')
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
