import { randomUUID } from 'node:crypto'

import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'

import { openActor } from '../../src/domain/access/actor.ts'
import { beforeBeginning, begin, beginningOf } from '../../src/domain/runs/take-up.ts'
import { admitRun } from '../../src/store/runs/admission.ts'
import { loadContext, loadRun } from '../../src/store/runs/load-run.ts'
import { listLogEntries } from '../../src/store/runs/run-log.ts'
import { findRunInputs } from '../../src/store/runs/runs.ts'
import { claimRuns, claimSuspect, type ClaimLimits } from '../../src/store/workers/claim-runs.ts'
import { deleteWorker, insertWorker } from '../../src/store/workers/workers.ts'
import { ensureTenant } from '../../src/store/access/tenants.ts'
import { createLog } from '../../src/util/log.ts'
import { RunClaims } from '../../src/worker/run-claims.ts'
import { createEngineGround, type EngineGround } from '../support/engine-ground.ts'
import { hookDatabase } from '../support/gated-database.ts'
import { createGatedModel, gatedHandle } from '../support/gated-model.ts'
import { testWorker } from '../support/worker-process.ts'

/** Claims on a database where nothing else happens. */
let ground: EngineGround
let workerId: string

beforeAll(async () => {
  const tool = { name: 'a', description: '', parameters: { type: 'object' }, run: () => '' }
  ground = await createEngineGround({ providers: [createGatedModel().provider], model: gatedHandle, tools: [tool] })
  workerId = randomUUID()
  await insertWorker(ground.database.db, workerId, testWorker)
})
afterEach(() => ground.database.pool.query('delete from conversations'))
afterAll(() => ground.close())

const noLimits: ClaimLimits = { perTenant: null, perAgent: null, perKey: null }
let lastTenantId: string = randomUUID()

/** The ids of the claimed runs. */
async function claim(places: number, limits = noLimits, worker = workerId): Promise<string[]> {
  const claimed = await claimRuns(ground.database.db, { workerId: worker, places, lastTenantId }, limits)
  lastTenantId = claimed.at(-1)?.loaded.state.run.tenantId ?? lastTenantId
  return claimed.map(({ loaded }) => loaded.state.run.id)
}

/** This many claimable runs of a new agent, in order of arrival. */
async function addRuns(count: number, { tenantId = ground.viewer.tenantId, urgent = false } = {}): Promise<string[]> {
  const { agentId } = await ground.createAgent()
  const { rows } = await ground.database.pool.query<{ id: string }>(
    `with conversation as (
       insert into conversations (id, tenant_id, agent_id, is_main, metadata, created_at, updated_at)
       values (gen_random_uuid(), $1, $2, false, '{}', now(), now()) returning *)
     insert into runs (id, tenant_id, agent_id, conversation_id, number, hold, kind, urgent, max_steps, created_at, request,
       metadata, status, next_seq, updated_at)
     select ('01900000-0000-7' || lpad(n::text, 3, '0') || '-8000-' || lpad(floor(random() * 1e11)::bigint::text, 12, '0'))::uuid,
       $1, agent_id, id, n, n, 'TURN', $4, 50, now(), '{"messages":[],"clientTools":[]}', '{}', 'QUEUED', 2, now()
     from conversation, generate_series(1, $3::integer) n returning id`,
    [tenantId, agentId, count, urgent],
  )
  return rows.map(({ id }) => id).toSorted()
}

async function addTenant(name: string): Promise<string> {
  return ensureTenant(ground.database.db, name, ground.process())
}

test('[ENG45] runs are claimed in order of arrival, urgent ones first', async () => {
  const waiting = await addRuns(5)
  const urgent = await addRuns(2, { urgent: true })
  const claimed: string[] = []
  for (let count = 0; count < 7; count += 1) claimed.push(...(await claim(1)))
  expect(claimed).toEqual([...urgent, ...waiting])
  expect(await claim(1)).toEqual([])
})

test('[ENG46] a tenant with thousands of waiting runs does not delay other tenants, with one free place or with many', async () => {
  const [one, other] = [await addTenant('one'), await addTenant('other')]
  await addRuns(999)
  await addRuns(999, { tenantId: one })
  const [only] = await addRuns(1, { tenantId: other })
  // One place that becomes free repeatedly: each tenant gets its turn.
  const first: string[] = []
  for (let count = 0; count < 3; count += 1) {
    const [id] = await claim(1)
    first.push(id!)
    await ground.database.pool.query('update runs set lease = null, worker_id = null, hold = null where id = $1', [id])
  }
  expect(first).toContain(only)
  const [late] = await addRuns(1, { tenantId: other })
  expect(await claim(4)).toContain(late)
})

test('[ENG47] limits of simultaneous runs hold per tenant and per agent, even if two workers claim at once', async () => {
  await addRuns(6)
  await addRuns(6)
  const second = randomUUID()
  await insertWorker(ground.database.db, second, testWorker)
  const perTenant = { perTenant: 3, perAgent: null, perKey: null }
  // The first has counted but not committed yet, so the second waits before it counts.
  const counted = Promise.withResolvers<void>()
  const committing = Promise.withResolvers<void>()
  const db = hookDatabase(ground.database.pool, {
    async before(statement) {
      if (statement !== 'commit') return
      counted.resolve()
      await committing.promise
    },
  })
  const first = claimRuns(db, { workerId, places: 2, lastTenantId }, perTenant)
  await counted.promise
  const other = claim(10, perTenant, second)
  const waits = async () =>
    (
      await ground.database.pool.query(
        `select from pg_locks join pg_database on pg_database.oid = pg_locks.database
         where datname = current_database() and locktype = 'advisory' and not granted`,
      )
    ).rowCount
  await expect.poll(waits, { timeout: 10_000 }).toBe(1)
  committing.resolve()
  expect([(await first).length, (await other).length]).toEqual([2, 1])
  await ground.database.pool.query('update runs set lease = null, worker_id = null')
  const claimed = await Promise.all([
    claim(10, { perTenant: null, perAgent: 2, perKey: null }),
    claim(10, { perTenant: null, perAgent: 2, perKey: null }, second),
  ])
  const { rows } = await ground.database.pool.query<{ count: number }>(
    'select count(*)::integer from runs where lease is not null group by agent_id',
  )
  expect(claimed.flat()).toHaveLength(4)
  expect(rows).toEqual([{ count: 2 }, { count: 2 }])
})

test('[ENG48] workers that claim at the same moment never get the same run, and miss none', async () => {
  const waiting = await addRuns(100)
  const workers = [workerId, randomUUID(), randomUUID(), randomUUID()]
  for (const worker of workers.slice(1)) await insertWorker(ground.database.db, worker, testWorker)
  const claimed: string[] = []
  while (claimed.length < waiting.length) {
    for (const batch of await Promise.all(workers.map((worker) => claim(7, noLimits, worker)))) claimed.push(...batch)
  }
  expect(claimed.toSorted()).toEqual(waiting)
})

test('[ENG49] a worker that was given up claims nothing', async () => {
  await addRuns(1)
  const gone = randomUUID()
  await insertWorker(ground.database.db, gone, testWorker)
  await deleteWorker(ground.database.db, gone)
  expect(await claim(1, noLimits, gone)).toEqual([])
  expect(await claimSuspect(ground.database.db, { workerId: gone, mayDrive: true })).toBeUndefined()
  expect(await claim(1)).toHaveLength(1)
})

/** Accepts a run for this worker. Returns whether the worker got it, and the run's row. */
async function admit(worker: string) {
  const { conversationId } = await ground.createAgent()
  const { ids, clock } = ground.process()
  const id = ids.next()
  const run = {
    id,
    tenantId: ground.viewer.tenantId,
    kind: 'TURN',
    parentId: null,
    sentBy: null,
    urgent: false,
    maxSteps: 50,
    maxTotalTokens: null,
    request: { messages: [], clientTools: [] },
    metadata: {},
    createdAt: clock.now(),
  } as const
  const options = {
    reach: ground.viewer,
    mayWait: false,
    driver: { workerId: worker, leftAgentIds: [], beginning: null },
  }
  const admitted = await admitRun(ground.database.db, { conversationId }, run, options)
  const { rows } = await ground.database.pool.query('select worker_id, claimable, attempts from runs where id = $1', [
    id,
  ])
  return { isClaimed: admitted!.claimed !== undefined, row: rows[0] }
}

test('[ENG58] a worker that was given up gets no accepted run', async () => {
  const gone = randomUUID()
  expect(await admit(gone)).toEqual({ isClaimed: false, row: { worker_id: null, claimable: true, attempts: 0 } })
  expect(await admit(workerId)).toEqual({
    isClaimed: true,
    row: { worker_id: workerId, claimable: false, attempts: 1 },
  })
})

test('[ENG70] a run that begins in the statement that stores it is as a reload finds it', async () => {
  const { conversationId } = await ground.createAgent()
  const { db, ids, clock } = ground.process()
  const given = (text: string) => ({ role: 'USER', content: [{ text }], clientId: text }) as const
  const system = { role: 'SYSTEM', content: [{ text: 'two' }], clientId: null, sentBy: openActor } as const
  const request = { messages: [given('one'), system], clientTools: [] }
  const run = {
    ...({ id: ids.next(), tenantId: ground.viewer.tenantId, kind: 'TURN', parentId: null, sentBy: null } as const),
    ...{ urgent: false, maxSteps: 50, maxTotalTokens: null, request, metadata: {}, createdAt: clock.now() },
  }
  const beginning = beginningOf(request, ids)
  const driver = { workerId, leftAgentIds: [], beginning }
  const admitted = await admitRun(db, { conversationId }, run, { reach: ground.viewer, mayWait: false, driver })
  const before = beforeBeginning(admitted!.claimed!.state)
  const messageIds = beginning.messages.map(({ id }) => id)
  const { draft, effect } = begin(before, messageIds)
  expect(effect).toEqual({ type: 'call model' })
  expect(draft.checkpoint().entries).toEqual(beginning.entries)

  // What was sent and what was logged are read from the messages, and neither is stored twice.
  const reloaded = (await loadRun(db, run.id))!
  expect(draft.state).toEqual(reloaded.state)
  expect(reloaded.state.run.request).toEqual(request)
  expect((await findRunInputs(db, ground.viewer, [run.id])).get(run.id)).toEqual(request.messages)
  for (const after of [0, 1, 2, 3, 4]) {
    const entries = await listLogEntries(db, run.id, { after, checkpoints: 10 })
    const later = beginning.entries.slice(Math.max(after - 1, 0))
    expect(entries.map(({ entry }) => entry).slice(after === 0 ? 1 : 0)).toEqual(later)
    expect(entries.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5].slice(after))
  }
  const context = await loadContext(db, conversationId, reloaded.bounds)
  expect(context.map(({ message: { id, position } }) => ({ id, position }))).toEqual(
    messageIds.map((id, place) => ({ id, position: before.nextPosition + place })),
  )
})

test('[ENG58] a worker that stops waits for runs that are just being accepted for it', async () => {
  const { database } = ground
  const engine = ground.process()
  const claims = new RunClaims(
    {
      engine,
      database,
      webhooks: { ...engine, publicUrl: undefined },
      keepDeliveriesMs: 0,
      about: testWorker,
      limits: noLimits,
      drainMs: 0,
      keepRequestsMs: 0,
      suspectAfterMs: 0,
      retention: { defaults: {}, tenants: {}, agents: {} },
      onDeleted: () => {},
      log: createLog('fatal'),
    },
    workerId,
    { onLeaseLost: () => {} },
  )
  claims.open()
  const place = claims.reservePlace(randomUUID())!
  // The only place is reserved for that run.
  expect(claims.reservePlace(randomUUID())).toBeUndefined()
  let isClosed = false
  const closed = claims.close(0).then(() => (isClosed = true))
  // Later than everything else that a stop waits for.
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(isClosed).toBe(false)
  place.release()
  await closed
})

test('[ENG50] a suspect is claimed only by a worker that may drive it; poison, which is only failed, by any worker', async () => {
  const [suspect, poison] = await addRuns(2)
  const { pool, db } = ground.database
  await pool.query('update runs set deaths = case when id = $1 then 2 else 3 end', [suspect])
  const claimedBy = async (mayDrive: boolean) => (await claimSuspect(db, { workerId, mayDrive }))?.loaded.state.run.id
  expect(await claim(2)).toEqual([])
  expect(await claimedBy(false)).toBe(poison)
  expect(await claimedBy(false)).toBeUndefined()
  expect(await claimedBy(true)).toBe(suspect)
})
