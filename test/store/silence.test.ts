import { expect, onTestFinished, test } from 'vitest'

import { openDatabase } from '../../src/store/database/open-database.ts'
import { isTransientFailure } from '../../src/store/database/transient-failure.ts'
import { createLog } from '../../src/util/log.ts'
import { captureLog } from '../support/captured-log.ts'
import { createTestDatabase } from '../support/database.ts'
import { startPostgresProxy } from '../support/postgres-proxy.ts'

async function openThroughProxy(answerMs: number, log = createLog('silent')) {
  const database = await createTestDatabase()
  const proxy = await startPostgresProxy(database.url)
  const through = await openDatabase(proxy.url, { log, silence: { lookMs: 50, answerMs } })
  onTestFinished(async () => {
    await through.close()
    await proxy.close()
    await database.close()
  })
  return { database, proxy, through }
}

test('[QUO61] a statement without an answer fails when the network is silent, and the pool recovers with the network', async () => {
  const { database, proxy, through } = await openThroughProxy(500)
  await database.pool.query('create table marks (mark text)')
  await through.pool.query('select 1')
  proxy.silence()
  const failure = await through.pool.query("insert into marks values ('late')").catch((error: unknown) => error)
  expect(isTransientFailure(failure)).toBe(true)
  // A new connection does not hang either. Ten seconds are its limit; the test waits for less.
  expect(through.pool.options.connectionTimeoutMillis).toBe(10_000)
  through.pool.options.connectionTimeoutMillis = 500
  const next = await through.pool.query('select 1').catch((error: unknown) => error)
  expect(isTransientFailure(next)).toBe(true)
  proxy.restore()
  expect((await through.pool.query('select 2 as two')).rows).toEqual([{ two: 2 }])
  // The statement that was given up arrived all the same: a failure of this kind says nothing about what is stored.
  await expect.poll(async () => (await database.pool.query('select mark from marks')).rows).toEqual([{ mark: 'late' }])
})

test('[QUO61] a statement that takes long is left alone as long as the database answers', async () => {
  const { through } = await openThroughProxy(3_000)
  const { rows } = await through.pool.query("select 'done' as word, pg_sleep(1)")
  expect(rows[0].word).toBe('done')
})

test('[QUO64] a statement that waits long for its answer is logged while it waits, with what it waits for and without its values', async () => {
  const captured = captureLog()
  const { database, through } = await openThroughProxy(3_000, captured.log)
  await database.pool.query('create table busy (n int)')
  const locker = await database.pool.connect()
  await locker.query('begin; lock table busy')
  const waiting = through.pool.query('insert into busy   values ($1::int)', [424_242])
  const line = await captured.until('a statement is still waiting for its answer')
  expect(line).toMatchObject({ sql: 'insert into busy values ($1::int)', waitsFor: 'Lock: relation' })
  // Ten looks.
  expect(line['durationMs']).toBeGreaterThanOrEqual(500)
  expect(JSON.stringify(captured.lines)).not.toContain('424242')
  await locker.query('rollback')
  locker.release()
  await waiting
})

test('[QUO65] a worker that ends breaks connections that hang', async () => {
  const { through } = await openThroughProxy(3_000)
  const hanging = through.pool.query('select pg_sleep(60)').catch((error: unknown) => error)
  expect(isTransientFailure(await through.breakSilentDuring(hanging))).toBe(true)
  expect((await through.pool.query('select 2 as two')).rows).toEqual([{ two: 2 }])
})
