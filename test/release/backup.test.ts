import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'

import { prepareDatabase } from '../../src/store/database/migrate.ts'
import { startEmbeddedPostgres } from '../../src/store/database/embedded/launch.ts'
import { openDatabase, type OpenDatabase } from '../../src/store/database/open-database.ts'
import { defineTool } from '../../src/tools/registry.ts'
import { createLog } from '../../src/util/log.ts'
import { startTestApp } from '../support/app.ts'
import { createTestDatabase } from '../support/database.ts'
import {
  copyTool,
  createEmptyBeside,
  dumpTool,
  makeInstalledFolder,
  installedBinaries,
  installedMajor,
  type DumpTool,
} from '../support/dump.ts'
import { createGatedModel, type GatedModel, type ModelCall } from '../support/gated-model.ts'
import { brokenPromises } from '../support/promises.ts'
import { approve, giveReturn, talkTo, type Talk } from '../support/talk.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'

const log = createLog('error')

let folder: string
beforeAll(async () => void (folder = await makeTemporaryFolder()))

/** How often each call was executed, on the old server and on the new one. */
const executions = new Map<string, number>()
const tools = [
  // By its name, the check of the promises knows that it may run twice.
  defineTool({
    name: 'again',
    description: 'May run again.',
    parameters: { type: 'object' },
    idempotent: true,
    run(_args, { idempotencyKey }) {
      executions.set(idempotencyKey, (executions.get(idempotencyKey) ?? 0) + 1)
      return 'done'
    },
  }),
]

const clientTool = { name: 'look', description: 'Looks.', parameters: { type: 'object' } }

/** The runs in progress when the dump is taken, by id. */
interface Work {
  readonly waiting: string
  readonly behind: string
  readonly client: string
  readonly streaming: string
}

/** A run that waits for a person, one behind it, one that waits for a client, and one whose model is speaking. */
async function beginWork(talk: Talk, model: GatedModel): Promise<Work> {
  const answer = async (speak: (call: ModelCall) => void) => speak(await model.nextCall())
  const careful = await talk.createAgent({ tools: [{ name: 'again', approvalOverride: true }] })
  const waiting = await talk.start(careful, 'may I?')
  await answer((call) => {
    call.call('again', {})
    call.finish()
  })
  await talk.pending(waiting)
  const behind = await talk.start(careful, 'and then', { whenBusy: 'ENQUEUE' })
  const client = await talk.start(await talk.createAgent(), 'look around', { clientTools: [clientTool] })
  await answer((call) => {
    call.call('look', {})
    call.finish()
  })
  await talk.pending(client)
  const streaming = await talk.start(await talk.createAgent(), 'tell me')
  const watch = talk.watch(streaming)
  await answer((call) => call.say('half of'))
  await watch.until((line) => line.includes('half of'))
  await watch.close()
  return { waiting, behind, client, streaming }
}

/** Clients that keep sending until they are stopped. */
async function startLoad(talk: Talk): Promise<{ untilTurns(count: number): Promise<void>; stop(): Promise<void> }> {
  let stopped = false
  let turns = 0
  const agents = await Promise.all(
    Array.from({ length: 4 }, () => talk.createAgent({ model: 'demo/scripted', tools: ['again'] })),
  )
  const clients = agents.map(async (agent) => {
    while (!stopped) {
      const wait = turns % 3 === 0 ? {} : { waitMs: 5_000 }
      turns += 1
      await talk.start(agent, `call again {}\nsay turn ${turns}`, { whenBusy: 'ENQUEUE', ...wait })
    }
  })
  return {
    async untilTurns(count) {
      await expect.poll(() => turns, { timeout: 60_000 }).toBeGreaterThanOrEqual(count)
    },
    async stop() {
      stopped = true
      await Promise.all(clients)
    },
  }
}

async function goOn(talk: Talk, model: GatedModel, { waiting, behind, client, streaming }: Work): Promise<void> {
  const finish = (call: ModelCall, text: string) => {
    call.say(text)
    call.finish()
  }
  // No client asks for this: its worker is gone, and the new server finds that out.
  finish(await model.nextCall(), 'the whole of it')
  expect(await talk.settled(streaming)).toMatchObject({ status: 'COMPLETED', answer: 'the whole of it' })

  const [call] = await talk.pending(waiting)
  expect(await talk.submit(waiting, [approve(call)])).toMatchObject({ __typename: 'SubmitApprovalsSuccess' })
  finish(await model.nextCall(), 'I did it')
  finish(await model.nextCall(), 'that too')
  expect(await talk.settled(waiting)).toMatchObject({ status: 'COMPLETED', answer: 'I did it' })
  expect(await talk.settled(behind)).toMatchObject({ status: 'COMPLETED', answer: 'that too' })

  const [looked] = await talk.pending(client)
  expect(await talk.submit(client, [giveReturn(looked, 'a wall')])).toMatchObject({
    __typename: 'SubmitApprovalsSuccess',
  })
  finish(await model.nextCall(), 'a wall it is')
  expect(await talk.settled(client)).toMatchObject({ status: 'COMPLETED', answer: 'a wall it is' })
}

/** Every run has ended and every conversation keeps the promises. Returns the number of runs. */
async function expectWhole({ db, pool }: OpenDatabase): Promise<number> {
  const unfinished = async () => (await pool.query('select id from runs where not ended')).rowCount
  await expect.poll(unfinished).toBe(0)
  const { rows } = await pool.query<{ id: string }>('select id from conversations')
  for (const { id } of rows)
    expect(await brokenPromises(db, { conversationId: id, sent: [], followUps: [], executions })).toEqual([])
  return (await pool.query('select id from runs')).rowCount!
}

async function dumpAndRestore(database: OpenDatabase, { dump, restore }: DumpTool): Promise<void> {
  const model = createGatedModel()
  const old = await startTestApp({ database, tools, providers: [model.provider] })
  const work = await beginWork(talkTo(old), model)
  const load = await startLoad(talkTo(old))
  await load.untilTurns(10)
  await dump(database.url, folder)
  // The old server continues after the dump, and its database is then lost.
  await load.untilTurns(20)
  await load.stop()
  await old.stop()

  const url = await createEmptyBeside(database.url)
  await restore(url, folder)
  const restored = await openDatabase(url, { log })
  expect(await prepareDatabase(restored, { log })).toEqual([])
  const app = await startTestApp({ database: restored, tools, providers: [model.provider] })
  const talk = talkTo(app)
  await goOn(talk, model, work)
  expect(await expectWhole(restored)).toBeGreaterThanOrEqual(10)
  model.assertAllTaken()

  // New rows continue where the dump ended, including sequences.
  const agent = await talk.createAgent({
    model: 'demo/scripted',
    tools: ['again'],
    blocks: [{ label: 'a', value: '' }],
  })
  const { run } = await talk.send(agent, 'hello', { waitMs: 20_000 })
  expect(run.status).toBe('COMPLETED')
  await app.stop()
  await restored.close()
}

describe('[OPS60] a dump taken under load restores to a server that continues what waited and what was under way', () => {
  test('by COPY of one snapshot', { timeout: 120_000 }, async () => {
    const database = await createTestDatabase()
    onTestFinished(() => database.close())
    await dumpAndRestore(database, copyTool)
  })

  describe.runIf(installedBinaries)('with the programs of an installed Postgres', () => {
    let database: OpenDatabase
    let stop: (() => Promise<void>) | undefined

    beforeAll(async () => {
      const settings = { fsync: 'off' }
      const postgres = await startEmbeddedPostgres({ dataDir: await makeInstalledFolder(folder), log, settings })
      database = await openDatabase(postgres.url, { log })
      stop = async () => {
        await database.close()
        await postgres.stop()
      }
    })
    afterAll(() => stop?.())

    test('[EMB10] a data folder that an installed Postgres made is served by its binaries', async () => {
      const { rows } = await database.pool.query<{ server_version: string }>('show server_version')
      expect(Number.parseInt(rows[0]!.server_version, 10)).toBe(installedMajor)
    })

    test('by pg_dump and pg_restore', { timeout: 120_000 }, async () => {
      await prepareDatabase(database, { log })
      await dumpAndRestore(database, dumpTool)
    })
  })
})
