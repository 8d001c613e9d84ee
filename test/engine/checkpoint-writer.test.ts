import { afterAll, expect, test } from 'vitest'

import { takeUp } from '../../src/domain/runs/take-up.ts'
import { advance } from '../../src/domain/runs/advance.ts'
import { Draft, type Checkpoint } from '../../src/domain/runs/draft.ts'
import { CheckpointWriter } from '../../src/engine/checkpoint-writer.ts'
import { storeWhileDriving } from '../../src/engine/commit.ts'
import { admitRun } from '../../src/store/runs/admission.ts'
import { loadRun } from '../../src/store/runs/load-run.ts'
import { defineTool } from '../../src/tools/registry.ts'
import { createEngineGround } from '../support/engine-ground.ts'
import { hookDatabase } from '../support/gated-database.ts'
import { createGatedModel, gatedHandle } from '../support/gated-model.ts'

const plain = defineTool({ name: 'plain', description: '', parameters: { type: 'object' }, run: () => '' })

const ground = await createEngineGround({
  providers: [createGatedModel().provider],
  model: gatedHandle,
  tools: [plain],
})
afterAll(() => ground.close())

/** The first checkpoint of a new run. */
async function firstCheckpoint(text = 'hello'): Promise<Checkpoint> {
  const context = ground.process()
  const { conversationId } = await ground.createAgent()
  const id = context.ids.next()
  const request = { messages: [{ role: 'USER', content: [{ text }], clientId: null }], clientTools: [] } as const
  await admitRun(
    context.db,
    { conversationId },
    {
      ...{ id, request, tenantId: ground.viewer.tenantId, kind: 'TURN', parentId: null, sentBy: null, urgent: false },
      ...{ maxSteps: 4, maxTotalTokens: null, metadata: {}, createdAt: context.clock.now() },
    },
    { reach: ground.viewer, mayWait: false, driver: null },
  )
  const draft = new Draft((await loadRun(context.db, id))!.state, context)
  takeUp(draft)
  advance(draft)
  return draft.checkpoint()
}

/** Writes the checkpoints together, behind another one that is under way. */
async function writeTogether(checkpoints: readonly Checkpoint[]) {
  const statements: number[] = []
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const { promise: first, resolve: release } = Promise.withResolvers<void>()
  const db = hookDatabase(ground.database.pool, {
    before(statement, parameters) {
      if (!statement.includes('given_runs')) return undefined
      statements.push(JSON.parse(parameters[0] as string).length as number)
      begin()
      return statements.length === 1 ? first : undefined
    },
  })
  const writer = new CheckpointWriter(db)
  const write = (checkpoint: Checkpoint) => writer.write({ checkpoint, withConfiguration: true })
  const ahead = write(await firstCheckpoint())
  await begun
  const written = checkpoints.map(write)
  release()
  await ahead
  return { statements, written }
}

const statusOf = async ({ before }: Checkpoint) => (await loadRun(ground.database.db, before.id))!.state.run.status

test('[ENG68] checkpoints that come in while one is being stored are stored by one statement, each with its own settings', async () => {
  const checkpoints = [await firstCheckpoint(), await firstCheckpoint(), await firstCheckpoint()]
  const { statements, written } = await writeTogether(checkpoints)
  const stored = await Promise.all(written)
  expect(statements).toEqual([1, 3])
  for (const [place, one] of stored.entries())
    expect(one?.configuration).toMatchObject({ agent: { id: checkpoints[place]!.after.agentId } })
  expect(await Promise.all(checkpoints.map(statusOf))).toEqual(['RUNNING', 'RUNNING', 'RUNNING'])
})

test('[ENG69] a checkpoint that cannot be stored, or is refused, harms no other', async () => {
  const { pool } = ground.database
  const [good, refused, bad] = [await firstCheckpoint(), await firstCheckpoint(), await firstCheckpoint('unstorable')]
  await pool.query('update runs set next_seq = next_seq + 1 where id = $1', [refused.before.id])
  await pool.query(`
    create function refuse_text() returns trigger language plpgsql as $$
    begin
      if new.content::text like '%unstorable%' then raise exception 'never' using errcode = '22000'; end if;
      return new;
    end $$`)
  await pool.query('create trigger refusing before insert on messages for each row execute function refuse_text()')
  const { written } = await writeTogether([good, refused, bad])
  const outcomes = await Promise.allSettled(written)
  await pool.query('drop trigger refusing on messages')
  expect(outcomes).toMatchObject([
    { status: 'fulfilled', value: { nextRunId: null } },
    { status: 'fulfilled', value: undefined },
    { status: 'rejected' },
  ])
  expect(await statusOf(good)).toBe('RUNNING')
  expect(await statusOf(bad)).toBe('QUEUED')
})

test('[ENG69] of two drivers of one run in a process, only the one with the lease stores anything', async () => {
  const current = await firstCheckpoint()
  const { before, messages } = current
  const stale: Checkpoint = {
    ...current,
    before: { ...before, lease: ground.process().ids.next() },
    newSteps: [],
    messages: messages.map(({ message, position }) => ({
      message: { ...message, id: ground.process().ids.next() },
      position: position + 1,
    })),
  }
  for (const pair of [
    [stale, current],
    [current, stale],
  ] as const) {
    const { written } = await writeTogether(pair)
    expect((await Promise.all(written))[pair.indexOf(stale)]).toBeUndefined()
  }
  const { rows } = await ground.database.pool.query('select id from messages where conversation_id = $1', [
    before.conversationId,
  ])
  expect(rows).toEqual(messages.map(({ message }) => ({ id: message.id })))
})

test('[ENG69] a run whose row is locked delays no other', async () => {
  const [locked, free] = [await firstCheckpoint(), await firstCheckpoint()]
  const client = await ground.database.pool.connect()
  await client.query('begin')
  await client.query('select from runs where id = $1 for update', [locked.before.id])
  const { written } = await writeTogether([locked, free])
  expect(await written[1]).toBeDefined()
  await client.query('rollback')
  client.release()
  expect(await written[0]).toBeDefined()
  expect(await statusOf(locked)).toBe('RUNNING')
})

test('[ENG69] checkpoints whose statement failed for a reason that passes are tried again alone', async () => {
  const checkpoints = await Promise.all([firstCheckpoint(), firstCheckpoint(), firstCheckpoint()])
  const sizes: number[] = []
  const db = hookDatabase(ground.database.pool, {
    before(statement, parameters) {
      if (!statement.includes('given_runs')) return undefined
      const size = (JSON.parse(parameters[0] as string) as unknown[]).length
      sizes.push(size)
      // As if one of them were too much for the database.
      if (size > 1) throw Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' })
      return undefined
    },
  })
  const context = { ...ground.process(), db, checkpoints: new CheckpointWriter(db) }
  const { signal: letGo } = new AbortController()
  const stored = checkpoints.map((checkpoint) =>
    storeWhileDriving(context, { checkpoint, withConfiguration: false }, letGo),
  )
  expect(await Promise.all(stored)).toMatchObject([{ nextRunId: null }, { nextRunId: null }, { nextRunId: null }])
  expect(sizes.toSorted()).toEqual([1, 1, 1, 3])
})

test('[ENG69] checkpoints for which there is no connection fail for a reason that passes, and later ones are stored', async () => {
  const [early, late] = [await firstCheckpoint(), await firstCheckpoint()]
  let isGone = true
  const db = hookDatabase(ground.database.pool, {
    acquire() {
      if (isGone) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    },
  })
  const writer = new CheckpointWriter(db)
  const refused = writer.write({ checkpoint: early, withConfiguration: false })
  await expect(refused).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  isGone = false
  expect(await writer.write({ checkpoint: late, withConfiguration: false })).toBeDefined()
  expect(await statusOf(early)).toBe('QUEUED')
})

test('[ENG69] checkpoints that wait behind a connection that breaks are stored over another one', async () => {
  const [lost, ...waiting] = [await firstCheckpoint(), await firstCheckpoint(), await firstCheckpoint()]
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const { promise: broken, resolve: breakIt } = Promise.withResolvers<void>()
  let brokenConnection: object | undefined
  const db = hookDatabase(ground.database.pool, {
    async before(statement, _parameters, connection) {
      if (!statement.includes('given_runs')) return
      brokenConnection ??= connection
      begin()
      if (connection !== brokenConnection) return
      await broken
      throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
    },
  })
  // It does not go on because time passes.
  const writer = new CheckpointWriter(db, { patienceMs: 60_000 })
  const write = (checkpoint: Checkpoint) => writer.write({ checkpoint, withConfiguration: false })
  const failing = expect(write(lost)).rejects.toMatchObject({ code: 'ECONNRESET' })
  await begun
  const stored = waiting.map(write)
  breakIt()
  await failing
  expect(await Promise.all(stored)).toMatchObject([{ nextRunId: null }, { nextRunId: null }])
})
