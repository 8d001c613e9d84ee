import { sql } from 'kysely'
import { afterAll, expect, test } from 'vitest'

import type { OpenDatabase } from '../../src/store/database/open-database.ts'
import { startTestApp } from '../support/app.ts'
import { createTestDatabase } from '../support/database.ts'
import { createGraphQLClient, type GraphQLClient } from '../support/graphql-client.ts'
import { startLongHaul, type LongHaul } from '../support/long-haul.ts'
import { spawnMain, type ServerProcess } from '../support/server-process.ts'
import { residentMegabytes, spentSoFar, type Spent } from '../support/spent.ts'
import { isLong } from '../support/long.ts'

const window = 3_000

test.skipIf(isLong)(
  '[LNG1] a long conversation in a small window, with a sleeptime agent',
  { timeout: 60_000 },
  async () => {
    const app = await startTestApp()
    const haul = await startLongHaul({ model: 'demo/scripted', window, client: async () => app })
    for (let number = 1; number <= 30; number += 1) {
      const { status } = await haul.turn(number)
      expect(status, `turn ${number}`).toBe(number % 29 === 0 ? 'FAILED' : 'COMPLETED')
      if (number % 10 === 0) expect(await haul.faultOfContext()).toBe(undefined)
    }
    await settle(app.database)
    await expectWhole(app.database, haul, 30)
    await app.stop()
  },
)

const turns = 5_000
/** After this many turns the server is no longer killed, and its cost and memory are measured. */
const killed = Math.floor(turns * 0.6)
const batch = Math.floor((turns - killed) / 4)
let server: ServerProcess | undefined
afterAll(() => void server?.child.kill('SIGKILL'))

test.runIf(isLong)(
  '[LNG2] thousands of turns and dozens of kills: nothing is lost, cost and memory stay flat',
  { timeout: 3_600_000 },
  async () => {
    const database = await createTestDatabase()
    let ready: Promise<GraphQLClient>
    const start = async () => {
      // A small heap, so that a leak soon ends the process.
      const env = { DATABASE_URL: database.url, LOG_LEVEL: 'fatal', NODE_OPTIONS: '--max-old-space-size=256' }
      server = spawnMain([], env)
      return createGraphQLClient(await server.ready())
    }
    ready = start()
    /** If a server ends by itself, its output is shown. */
    const withWords = (error: unknown): never => {
      throw new Error(`the server said: ${server!.stderr().slice(-2_000)}`, { cause: error })
    }
    const haul = await startLongHaul({ model: 'demo/scripted', window, client: () => ready }).catch(withWords)
    let kills = 0
    const kill = async () => {
      kills += 1
      const { child, ended } = server!
      // From now on the client waits for the next server.
      ready = ended.then(start)
      child.kill('SIGKILL')
      await ready
    }

    const batches: Cost[] = []
    let times: number[] = []
    let spent = await spentSoFar(database, server!)
    for (let number = 1; number <= turns; number += 1) {
      const dies = number <= killed && number % 37 === 0
      const killing = dies ? after(Math.random() * 30).then(kill) : undefined
      const { status, ms } = await haul.turn(number).catch(withWords)
      await killing
      // A kill may happen while a tool that is not idempotent is running. No turn fails because of that.
      expect(status, `turn ${number}`).toBe(number % 29 === 0 ? 'FAILED' : 'COMPLETED')
      if (number % 50 === 0) expect(await haul.faultOfContext(), `after turn ${number}`).toBe(undefined)
      times.push(ms)
      if (number > killed && (number - killed) % batch === 0) {
        const now = await spentSoFar(database, server!)
        const perTurn = (what: keyof Spent) => Math.round(((now[what] - spent[what]) / times.length) * 10) / 10
        batches.push({
          ms: median(times),
          cpuMs: perTurn('cpuMs'),
          blocks: perTurn('blocks'),
          walRecords: perTurn('walRecords'),
          rss: residentMegabytes(server!),
        })
        console.log(JSON.stringify({ turns: number, kills, ...batches.at(-1) }))
      }
      if (number >= killed && (number - killed) % batch === 0) {
        times = []
        spent = await spentSoFar(database, server!)
      }
    }
    await settle(database)
    await expectWhole(database, haul, turns)
    const [first, last] = [batches[0]!, batches.at(-1)!]
    // Not measured by the clock, because other work on the machine would count too.
    expect(last.cpuMs).toBeLessThan(first.cpuMs * 1.3)
    expect(last.blocks).toBeLessThan(first.blocks * 1.3)
    expect(last.walRecords).toBeLessThan(first.walRecords * 1.3)
    expect(last.rss).toBeLessThan(first.rss * 1.25)
    server!.child.kill('SIGTERM')
    await server!.ended
    await database.close()
  },
)

/** Waits until nothing happens any more, including background runs. */
async function settle({ db }: OpenDatabase): Promise<void> {
  for (;;) {
    const { count } = await db
      .selectFrom('runs')
      .where('ended', '=', false)
      .select(sql<number>`count(*)::integer`.as('count'))
      .executeTakeFirstOrThrow()
    if (count === 0) return
    await after(100)
  }
}

/** What the tables must contain at the end. */
async function expectWhole({ db }: OpenDatabase, { agent }: LongHaul, count: number): Promise<void> {
  const agentId = agent.replace(/^agent_(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  const one = async <Row>(query: ReturnType<typeof sql<Row>>) => (await query.execute(db)).rows[0]!
  // Every turn once, and every message in its place.
  expect(
    await one(sql<object>`
      select (select count(*)::integer from runs where agent_id = ${agentId} and kind = 'TURN') as turns,
        (select turns from sleeptime_groups where agent_id = ${agentId}) as counted,
        (select count(*)::integer from messages where type = 'USER' and conversation_id = conversations.id) as asked,
        (select count(*)::integer = max(position) from messages where conversation_id = conversations.id) as unbroken,
        (select count(*)::integer from tool_calls where result is null) as open_calls
      from conversations where agent_id = ${agentId}`),
  ).toEqual({ turns: count, counted: count, asked: count, unbroken: true, open_calls: 0 })
  // Everything was compacted repeatedly, and read in the background, in order and without a gap.
  const { summaries, read_to: readTo } = await one(sql<{ summaries: number; read_to: number }>`
    select count(*)::integer as summaries, (select max(read_to) from sleeptime_progress) as read_to
    from messages join conversations on conversations.id = conversation_id
    where agent_id = ${agentId} and type = 'SUMMARY'`)
  expect(summaries).toBeGreaterThan(count / 30)
  expect(readTo).toBeGreaterThan(count)
  const { rows: material } = await sql<{ text: string }>`
    select messages.content #>> '{content,0,text}' as text
    from messages join runs on runs.conversation_id = messages.conversation_id and runs.hold = messages.run_hold
    where runs.kind = 'SLEEPTIME' and runs.status = 'COMPLETED' and messages.type = 'USER'
    order by messages.created_at, messages.position`.execute(db)
  // Only what the user said: tools return what they find of it, too.
  const told = material.flatMap(({ text }) =>
    [...text.matchAll(/^user:\n(?:> (?:call|fail) .*\n)*> turn (\d+):/gm)].map(([, number]) => Number(number)),
  )
  const expected = Array.from({ length: count - (count % 3) }, (_, index) => index + 1)
  // What a transcript left out of its middle is missing here, and nothing occurs twice.
  expect(new Set(told).size).toBe(told.length)
  expect(told).toEqual(told.toSorted((a, b) => a - b))
  expect(told.length).toBeGreaterThan(expected.length * 0.5)
}

/** Per turn, except for the memory of the process. */
interface Cost extends Spent {
  readonly ms: number
  readonly rss: number
}

function median(values: readonly number[]): number {
  return Math.round((values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0) * 10) / 10
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
