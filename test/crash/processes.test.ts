import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { talkTo, type Talk } from '../support/talk.ts'
import { CrashCluster } from '../support/crash-cluster.ts'

let cluster: CrashCluster
let agent: string

beforeAll(async () => {
  // A suspect waits for a process that has lived for a while. Here that is less than ten seconds.
  cluster = await CrashCluster.start(2, { suspectAfterMs: 500 })
  agent = await cluster.createAgent()
})
afterAll(() => cluster.stop())

/** A client of the server that will not be killed. */
async function survivor(): Promise<Talk> {
  return talkTo(await cluster.client(1))
}

/** Waits for the worker that drives the run. */
async function workerOf(run: string): Promise<string> {
  for (;;) {
    const { rows } = await cluster.database.pool.query<{ worker_id: string | null }>(
      'select worker_id from runs where id = $1',
      [run.slice('run_'.length)],
    )
    if (rows[0]?.worker_id) return rows[0].worker_id
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/**
 * Starts a run that the first server drives: the server that accepts it usually claims it, unless the other one looks
 * first.
 */
async function startOnFirst(text: string): Promise<string> {
  for (;;) {
    const run = await talkTo(await cluster.client(0)).start(await cluster.createAgent(), text)
    if ((await workerOf(run)) === cluster.workerId(0)) return run
  }
}

test(
  '[ENG29] a worker that was suspended and resumes writes nothing, and its successor keeps the run',
  { timeout: 40_000 },
  async () => {
    const run = await startOnFirst('slow 700')
    const worker = cluster.workerId(0)
    cluster.signal(0, 'SIGSTOP')
    await cluster.database.pool.query(`update workers set heartbeat_at = now() - interval '1 minute' where id = $1`, [
      worker,
    ])
    while ((await workerOf(run)) === worker) await new Promise((resolve) => setTimeout(resolve, 20))
    cluster.signal(0, 'SIGCONT')
    // It has noticed once it has a new row.
    for (;;) {
      const { rows } = await cluster.database.pool.query<{ id: string }>('select id from workers')
      if (rows.length === 2 && !rows.some(({ id }) => id === worker)) break
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    const ended = await (await survivor()).settled(run)
    expect(ended).toMatchObject({ status: 'COMPLETED', attempts: 2 })
    expect(ended.messages.nodes.map((message: any) => message.__typename)).toEqual([
      'UserMessage',
      'AssistantMessage',
      'ToolCallMessage',
      'ToolReturnMessage',
      'AssistantMessage',
    ])
  },
)

describe('a server that is killed while it drives runs and accepts a message', () => {
  const message = { idempotencyKey: 'died', whenBusy: 'ENQUEUE' } as const
  let diedAt: number
  /** The runs that it drove. */
  const runs: Record<'once' | 'repeatable' | 'unstored', string> = { once: '', repeatable: '', unstored: '' }

  beforeAll(async () => {
    for (const tool of ['once', 'repeatable'] as const)
      runs[tool] = (await cluster.holdRun(0, 'mid-tool', `use ${tool}`)).at(-1)!
    runs.unstored = (await cluster.holdRun(0, 'before the answer is stored', 'use once')).at(-1)!
    await cluster.arm(0, 'after admission')
    const sent = talkTo(await cluster.client(0)).send(agent, 'hello', message)
    await expect(sent).rejects.toThrow('fetch failed')
    await cluster.death(0)
    diedAt = performance.now()
  })
  afterAll(() => cluster.startServer(0))

  test('[ENG27] a tool that was running when its worker died runs again if it is idempotent; otherwise its outcome is unknown', async () => {
    for (const [tool, outcome] of [
      ['once', { status: 'FAILED', result: { output: expect.stringContaining('unknown') } }],
      ['repeatable', { status: 'SUCCEEDED', result: { output: 'written down' } }],
    ] as const) {
      const ended = await (await survivor()).settled(runs[tool])
      // Noticed by its lock: a missing heartbeat would take half a minute.
      expect(performance.now() - diedAt).toBeLessThan(20_000)
      expect(ended).toMatchObject({ status: 'COMPLETED', attempts: 2, steps: [{ toolCalls: [outcome] }, {}] })
      expect(await countEffects(ended.steps[0]!.toolCalls[0]!.id)).toBe(tool === 'once' ? 1 : 2)
    }
  })

  test('[ENG51] a tool whose answer was not stored before the process died has not run', async () => {
    // The id of the call that died with the process was not stored, so an effect of it would belong to no call.
    const { rows: orphans } = await cluster.database.pool.query(
      `select key from effects
       where not exists (select from tool_calls where 'call_' || replace(tool_calls.id::text, '-', '') = effects.key)`,
    )
    expect(orphans).toEqual([])
    const ended = await (await survivor()).settled(runs.unstored)
    expect(ended).toMatchObject({ status: 'COMPLETED', attempts: 2 })
    expect(await countEffects(ended.steps[0]!.toolCalls[0]!.id)).toBe(1)
  })

  test('[ENG28] if the first process dies after the commit, the same key finds the run in another', async () => {
    const run = await (await survivor()).start(agent, 'hello', message)
    expect(await (await survivor()).settled(run)).toMatchObject({ status: 'COMPLETED' })
    const { rows } = await cluster.database.pool.query(
      `select from messages where type = 'USER' and content::text like '%hello%'`,
    )
    expect(rows).toHaveLength(1)
  })
})

async function countEffects(call: string): Promise<number> {
  const { rows } = await cluster.database.pool.query('select from effects where key = $1', [call])
  return rows.length
}

test(
  '[ENG30] a run that killed three workers is failed as poison, and runs beside it are not',
  { timeout: 60_000 },
  async () => {
    const api = await survivor()
    const neighbours: string[] = []
    for (let count = 0; count < 2; count++) neighbours.push(await api.start(await cluster.createAgent(), 'slow 700'))
    // Slow enough for the answer to be sent before the run kills its process.
    const poisoned = await api.start(agent, 'slow 200 deadly')
    const restarts = [0, 1].map(async (name) => {
      for (;;) {
        const over = Symbol()
        if ((await Promise.race([cluster.death(name), done.then(() => over)])) === over) return
        await cluster.startServer(name)
      }
    })
    const { rows } = await waitForRow<{ attempts: number; error: { message: string } }>(
      `select attempts, error from runs where id = $1 and status = 'FAILED'`,
      [poisoned.slice('run_'.length)],
    )
    resolveDone()
    await Promise.all(restarts)
    expect(rows[0]).toMatchObject({ attempts: 3, error: { message: expect.stringContaining('given up') } })
    const client = talkTo(await cluster.client(0))
    expect(await client.settled(poisoned)).toMatchObject({ stopReason: 'ERROR', error: { retryable: true } })
    for (const run of neighbours) {
      expect(await client.run(run, 30_000)).toMatchObject({ status: 'COMPLETED' })
    }
    // The conversation accepts the next message.
    expect(await client.settled(await client.start(agent, 'and now'))).toMatchObject({ status: 'COMPLETED' })
  },
)
const { promise: done, resolve: resolveDone } = Promise.withResolvers<void>()

async function waitForRow<Row extends object>(query: string, values: readonly unknown[]) {
  for (;;) {
    const result = await cluster.database.pool.query<Row>(query, [...values])
    if (result.rows.length > 0) return result
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
