import { expect, onTestFinished, test } from 'vitest'

import { CrashCluster } from '../support/crash-cluster.ts'
import { checkHistory, HistoryLoad } from '../support/history.ts'

test('[ENG31] a rolling restart of two processes under load fails no run', { timeout: 60_000 }, async () => {
  const cluster = await CrashCluster.start(2)
  onTestFinished(() => cluster.stop())
  const load = new HistoryLoad(cluster)
  await load.start(4)
  for (const name of [0, 1]) {
    await load.more(4)
    await cluster.drain(name)
    await cluster.startServer(name)
  }
  await load.more(4)
  await load.stop()
  await cluster.atRest()
  expect(load.history.faults).toEqual([])
  expect(await checkHistory(cluster, load.history)).toMatchObject({ lost: [], doubled: [], malformed: [], stuck: [] })
  expect((await cluster.database.pool.query("select from runs where status = 'FAILED'")).rowCount).toBe(0)
})
