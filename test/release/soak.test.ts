import { afterAll, expect, test } from 'vitest'

import { startLongHaul } from '../support/long-haul.ts'
import { startOwnServer, type OwnServer } from '../support/own-server.ts'
import { SoakLoad } from '../support/soak-load.ts'
import { residentMegabytes, spentSoFar, type Spent } from '../support/spent.ts'
import { isLong } from '../support/long.ts'

/** Of the long version. The short one takes a few seconds. */
const minutes = 60

/** Idempotency keys are kept for a day. */
const tables = ['conversations', 'runs', 'messages', 'steps', 'tool_calls', 'run_log', 'audit_entries']

/** Everything is old after a few seconds. */
const retention = {
  HOLDPOINT_KEEP_LOGS: '1s',
  HOLDPOINT_KEEP_RUNS: '2s',
  HOLDPOINT_KEEP_ARCHIVED: '1s',
  HOLDPOINT_KEEP_AUDIT: '1s',
}

let server: OwnServer
afterAll(() => server.stop())

async function start(): Promise<SoakLoad> {
  // A small heap, so that a leak would end the process.
  server = await startOwnServer({ LOG_LEVEL: 'fatal', NODE_OPTIONS: '--max-old-space-size=256', ...retention })
  const { client } = server
  const haul = await startLongHaul({ model: 'demo/scripted', window: 3_000, client: async () => client })
  return new SoakLoad(client, server.database, haul)
}

async function countRows(): Promise<Record<string, number>> {
  const counts = tables.map((table) => `(select count(*)::integer from ${table}) as ${table}`)
  return (await server.database.pool.query(`select ${counts.join()}`)).rows[0]
}

test.skipIf(isLong)(
  '[OPS64] under load and with retention on, rows go as they come',
  { timeout: 180_000 },
  async () => {
    const load = await start()
    await load.bulk(300)
    await load.turns(60)
    // The rest is in the context of the long conversation, or in that of its sleeptime agent.
    await expect.poll(countRows, { timeout: 60_000 }).toMatchObject({ conversations: 2, audit_entries: 0 })
    const gone = `select count(*)::integer as n from runs join conversations on conversations.id = conversation_id
      where runs.next_position <= context_from
        and summary_position not between runs.first_position and runs.next_position - 1`
    await expect.poll(async () => (await server.database.pool.query(gone)).rows[0].n, { timeout: 60_000 }).toBe(0)
    // Of a log, the last row stays.
    const more = 'select (select count(*) from run_log) - (select count(*) from runs) as n'
    await expect.poll(async () => (await server.database.pool.query(more)).rows[0].n, { timeout: 60_000 }).toBe(0)
  },
)

interface Window extends Spent {
  readonly turns: number
  readonly rss: number
  /** The current rows, and the rows that were added and deleted so far. */
  readonly rows: number
  readonly added: number
  readonly deleted: number
  readonly megabytes: number
}

const turnsInWindow = 300
/** Six rows each. */
const bulkTurns = 15_000

test.runIf(isLong)(
  '[OPS65] for an hour, with a million rows that come and go, memory, tables and the cost of turns stay flat',
  { timeout: (minutes + 30) * 60_000 },
  async () => {
    const load = await start()
    const windows: Window[] = []
    let turns = 0
    const until = performance.now() + minutes * 60_000
    while (performance.now() < until || windows.length < 12) {
      const before = await spentSoFar(server.database, server)
      await load.turns(turnsInWindow)
      await load.bulk(bulkTurns)
      turns += turnsInWindow
      const window = { turns, ...(await look(before)) }
      windows.push(window)
      console.log(JSON.stringify(window))
    }
    expect(windows.at(-1)!.deleted).toBeGreaterThan(1_000_000)
    // During the first windows, caches fill and tables grow to their final size.
    const third = Math.floor(windows.length / 3)
    const [middle, last] = [windows.slice(third, 2 * third), windows.slice(2 * third)]
    for (const what of ['rss', 'rows', 'megabytes', 'cpuMs', 'blocks', 'walRecords'] as const)
      expect(typical(last, what), what).toBeLessThan(typical(middle, what) * 1.3)
  },
)

async function look(before: Spent): Promise<Omit<Window, 'turns'>> {
  const now = await spentSoFar(server.database, server)
  const { rows } = await server.database.pool.query(
    `select sum(n_tup_ins)::integer as added, sum(n_tup_del)::integer as deleted,
       round(sum(pg_total_relation_size(relid)) / 1e6)::integer as megabytes
     from pg_stat_user_tables where relname = any($1)`,
    [tables],
  )
  const counts = Object.values(await countRows())
  return {
    cpuMs: now.cpuMs - before.cpuMs,
    blocks: now.blocks - before.blocks,
    walRecords: now.walRecords - before.walRecords,
    rss: residentMegabytes(server),
    rows: counts.reduce((sum, count) => sum + count, 0),
    ...rows[0],
  }
}

function typical(windows: readonly Window[], what: keyof Window): number {
  return windows.map((window) => window[what]).toSorted((a, b) => a - b)[Math.floor(windows.length / 2)]!
}
