import { expect, test } from 'vitest'

import { measureTurns, turnLimits, type TurnCost } from '../../../bench/turn.ts'
import { openDatabase } from '../../../src/store/database/open-database.ts'
import { createLog } from '../../../src/util/log.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { createTestDatabase } from '../../support/database.ts'
import { talkTo } from '../../support/talk.ts'

test('[ENG14] a turn costs as much after 100,000 messages as after ten', { timeout: 120_000 }, async () => {
  const costs = await measureTurns({ turns: 150, histories: [10, 100_000], fsync: false })
  const [short, long] = costs as [TurnCost, TurnCost]
  expect(long.statements).toBeLessThanOrEqual(turnLimits.statements)
  expect(long.walBytes).toBeLessThanOrEqual(turnLimits.walBytes)
  expect(Math.abs(long.statements / short.statements - 1)).toBeLessThan(0.2)
  expect(Math.abs(long.walBytes / short.walBytes - 1)).toBeLessThan(0.2)
})

test('[ENG34] a turn reads as much of the database with thousands of earlier and waiting runs as with a few', async () => {
  const fresh = await createTestDatabase()
  const { rows } = await fresh.pool.query<{ name: string }>('select current_database() as name')
  await fresh.pool.query('create extension pg_stat_statements')
  await fresh.pool.query(`alter database ${rows[0]!.name} set compute_query_id = on`)
  await fresh.pool.query(`alter database ${rows[0]!.name} set pg_stat_statements.track = 'all'`)
  await fresh.close()
  // Connections that are opened from now on are recorded.
  const database = await openDatabase(fresh.url, { log: createLog('error'), poolSize: 5 })
  const app = await startTestApp({ database })
  const client = talkTo(app)
  const agent = await client.createAgent({ model: 'demo/scripted' })
  const takeTurn = async () => client.settled(await client.start(agent, 'hello'))

  const young = await blocksOfTurns(app, takeTurn)
  await addHistory(app, agent, 5_000)
  await addWaiting(app, await client.createAgent({ model: 'demo/scripted' }), 5_000)
  const old = await blocksOfTurns(app, takeTurn)
  expect(young).toBeGreaterThan(0)
  expect(old).toBeLessThan(young * 1.3)
  await app.stop()
  await database.close()
})

/** How much Postgres reads for each of twenty turns, including reading the answer. */
async function blocksOfTurns({ database: { pool } }: TestApp, takeTurn: () => Promise<unknown>): Promise<number> {
  // Postgres does this by itself after a while.
  await pool.query('analyze')
  await pool.query(
    `select pg_stat_statements_reset(dbid => (select oid from pg_database where datname = current_database()))`,
  )
  const turns = 20
  for (let turn = 0; turn < turns; turn += 1) await takeTurn()
  const { rows } = await pool.query<{ blocks: string }>(
    `select sum(shared_blks_hit + shared_blks_read) as blocks from pg_stat_statements join pg_database on oid = dbid
     where toplevel and datname = current_database()`,
  )
  return Number(rows[0]!.blocks) / turns
}

/** This many ended runs with two messages each, before the start of the context. */
async function addHistory({ database: { pool } }: TestApp, agent: string, count: number): Promise<void> {
  await pool.query(
    `with c as (
      update conversations set next_run_number = next_run_number + $2, next_hold = next_hold + $2,
        next_position = next_position + 2 * $2, context_from = next_position + 2 * $2
      where agent_id = $1 returning *
    ), r as (
      insert into runs (id, tenant_id, agent_id, conversation_id, number, hold, kind, urgent, max_steps, created_at, request,
        metadata, status, next_seq, first_position, next_position, updated_at, started_at, finished_at)
      select gen_random_uuid(), tenant_id, agent_id, id, next_run_number - n, next_hold - n, 'TURN', false, 50, now(),
        '{"messages":[],"clientTools":[]}', '{}', 'COMPLETED', 2, next_position - 2 * n, next_position - 2 * n + 2,
        now(), now(), now()
      from c, generate_series($2::integer, 1, -1) n
      returning conversation_id, hold, first_position
    )
    insert into messages (id, conversation_id, position, run_hold, type, created_at, content)
    select gen_random_uuid(), conversation_id, first_position + n, hold, 'USER', now(), '{"content":[{"text":"hello"}]}'
    from r, generate_series(0, 1) n`,
    [agent.slice('agent_'.length), count],
  )
}

/** This many runs that wait in the queue. */
async function addWaiting({ database: { pool } }: TestApp, agent: string, count: number): Promise<void> {
  await pool.query(
    `insert into runs (id, tenant_id, agent_id, conversation_id, number, kind, urgent, max_steps, created_at, request,
      metadata, status, next_seq, updated_at)
    select gen_random_uuid(), tenant_id, agent_id, id, n, 'TURN', false, 50, now(), '{"messages":[],"clientTools":[]}',
      '{}', 'QUEUED', 1, now()
    from conversations, generate_series(1, $2::integer) n where agent_id = $1`,
    [agent.slice('agent_'.length), count],
  )
}
