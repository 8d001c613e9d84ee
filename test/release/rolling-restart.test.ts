import { expect, onTestFinished, test } from 'vitest'

import { CrashCluster } from '../support/crash-cluster.ts'
import { CrashLoad } from '../support/crash-load.ts'
import { readOutcome, settle } from '../support/crash-outcome.ts'

test('[ENG31] a rolling restart of two processes under load fails no run', { timeout: 60_000 }, async () => {
  const cluster = await CrashCluster.start(2)
  onTestFinished(() => cluster.stop())
  const load = new CrashLoad(cluster)
  await load.start(4)
  for (const name of [0, 1]) {
    await load.more(4)
    await cluster.drain(name)
    await cluster.startServer(name)
  }
  await load.more(4)
  await load.stop()
  expect(await settle(cluster, load)).toEqual({ stuck: 0, givenUp: 0 })
  expect(await readOutcome(cluster, load)).toMatchObject({ lost: [], doubled: [], malformed: [] })
  const { rows } = await cluster.database.pool.query(`select status, count(*)::integer from runs group by status`)
  expect(rows.map((row) => row.status).toSorted()).toEqual(['COMPLETED'])
})
