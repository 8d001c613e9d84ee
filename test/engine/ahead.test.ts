import { afterEach, expect, test } from 'vitest'

import type { Provider } from '../../src/providers/provider.ts'
import { defineTool } from '../../src/tools/registry.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { createTestDatabase } from '../support/database.ts'
import { hookDatabase } from '../support/gated-database.ts'
import { createGatedModel } from '../support/gated-model.ts'
import { talkTo, type Talk } from '../support/talk.ts'

const model = createGatedModel()
const look = defineTool({ name: 'look', description: '', parameters: { type: 'object' }, run: () => 'seen' })
const toStop: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const stop of toStop.splice(0).toReversed()) await stop()
  model.assertAllTaken()
})

interface Held {
  readonly app: TestApp
  readonly api: Talk
  readonly agent: string
  readonly run: string
  readonly pool: { query(text: string, values?: readonly unknown[]): Promise<unknown> }
  /** Lets the checkpoint with the tool's result and the start of the second step be stored. */
  release(): void
}

/** A run whose second step is about to be stored. */
async function holdSecondStep(
  input: object = {},
  before: (statement: string, pool: Held['pool']) => Promise<void> = () => Promise.resolve(),
): Promise<Held> {
  const database = await createTestDatabase()
  toStop.push(() => database.close())
  const reached = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  const db = hookDatabase(database.pool, {
    async before(statement) {
      await before(statement, database.pool)
      if (!/changed_calls[^]*added_steps|added_steps[^]*changed_calls/.test(statement)) return undefined
      reached.resolve()
      return opened.promise
    },
  })
  const provider: Provider = {
    ...model.provider,
    models: () => model.provider.models().map((one) => ({ ...one, capabilities: ['IMAGES'] })),
  }
  const app = await startTestApp({ database: { ...database, db }, providers: [provider], tools: [look] })
  toStop.push(() => app.stop())
  const api = talkTo(app)
  const agent = await api.createAgent({ tools: ['look'] })
  const run = await api.start(agent, 'go', input)
  const first = await model.nextCall()
  first.call('look', {})
  first.finish()
  await reached.promise
  return { app, api, agent, run, pool: database.pool, release: () => opened.resolve() }
}

test('[ENG65] the model is asked while the checkpoint that starts its step is stored, and nothing of the answer is shown before', async () => {
  const { api, run, release } = await holdSecondStep()
  const ahead = await model.nextCall()
  expect(ahead.request.messages.at(-1)).toMatchObject({ role: 'tool' })
  ahead.say('It was seen.')
  ahead.finish()
  // A reader that comes now, and a whole other run after it, see nothing of the second step.
  const watch = api.watch(run)
  await watch.until((line) => line === 'ToolCallChanged look RUNNING')
  const other = await api.createAgent({ model: 'demo/scripted' })
  await api.settled(await api.start(other, 'hello'))
  expect(watch.lines.filter((line) => line.startsWith('StepStarted'))).toHaveLength(1)
  expect(watch.lines).not.toContain('TextDelta It was seen.')
  release()
  await watch.ended
  expect(watch.lines.filter((line) => line.startsWith('StepStarted'))).toHaveLength(2)
  expect(await api.settled(run)).toMatchObject({ status: 'COMPLETED', answer: 'It was seen.', attempts: 1 })
})

test('[ENG71] if the checkpoint is refused because of a cancel, the request is aborted and forgotten', async () => {
  const { app, api, run, release } = await holdSecondStep()
  const ahead = await model.nextCall()
  ahead.say('never shown')
  const cancelling = app.request('mutation ($id: ID!) { cancelRun(input: { runId: $id }) { __typename } }', { id: run })
  await ahead.aborted
  release()
  expect((await cancelling).errors).toBeUndefined()
  const ended = await api.settled(run)
  expect(ended).toMatchObject({ status: 'CANCELLED', steps: [{ toolCalls: [{ status: 'SUCCEEDED' }] }] })
  expect(ended.steps).toHaveLength(1)
  expect(JSON.stringify(await api.messages(run))).not.toContain('never shown')
})

test('[ENG67] if the settings have changed, the request is aborted and the model asked again', async () => {
  const { api, run, pool, release } = await holdSecondStep()
  const ahead = await model.nextCall()
  ahead.say('from the old instructions')
  // As another process does it.
  await pool.query(`update agents set instructions = 'New instructions.'`)
  release()
  const current = await model.nextCall()
  expect(ahead.signal.aborted).toBe(true)
  expect(current.request.systemPrompt).toContain('New instructions.')
  current.say('from the new instructions')
  current.finish()
  expect(await api.settled(run)).toMatchObject({ status: 'COMPLETED', answer: 'from the new instructions' })
})

test('[ENG67] settings that this process has changed are used without asking for the old ones', async () => {
  const { app, api, agent, run, release } = await holdSecondStep()
  const ahead = await model.nextCall()
  ahead.call('look', {})
  ahead.finish()
  release()
  await expect.poll(() => model.untaken()).toBe(1)
  const second = await model.nextCall()
  await app.data('mutation ($input: UpdateAgentInput!) { updateAgent(input: $input) { agent { id } } }', {
    input: { id: agent, instructions: 'Newer instructions.' },
  })
  second.call('look', {})
  second.finish()
  const third = await model.nextCall()
  expect(third.request.systemPrompt).toContain('Newer instructions.')
  third.say('done')
  third.finish()
  expect(await api.settled(run)).toMatchObject({ status: 'COMPLETED', answer: 'done' })
})

test('[ENG71] a request that fails before its checkpoint is stored fails the attempt only afterwards', async () => {
  const unhandled: unknown[] = []
  const notice = (reason: unknown) => unhandled.push(reason)
  process.on('unhandledRejection', notice)
  toStop.push(async () => void process.off('unhandledRejection', notice))
  const failed = Promise.withResolvers<void>()
  let reads = 0
  const picture = { imageUrl: `data:image/png;base64,${Buffer.alloc(9_000).toString('base64')}` }
  const { api, run, release } = await holdSecondStep(
    { messages: [{ content: [picture] }] },
    async (statement, pool) => {
      if (!statement.includes('"file_contents"."bytes"')) return
      reads += 1
      // A file that no longer exists is looked for before every request.
      if (reads === 1) await pool.query('delete from files')
      if (reads !== 2) return
      failed.resolve()
      throw Object.assign(new Error('never'), { code: '22000' })
    },
  )
  await failed.promise
  await new Promise(setImmediate)
  expect(unhandled).toEqual([])
  release()
  const again = await model.nextCall()
  again.say('It was seen.')
  again.finish()
  expect(await api.settled(run)).toMatchObject({ status: 'COMPLETED', answer: 'It was seen.' })
})

test('[ENG72] a client that waits is answered with the end of its run, also if a reader finds the end stored before its driver knows', async () => {
  const database = await createTestDatabase()
  toStop.push(() => database.close())
  const stored = Promise.withResolvers<void>()
  const told = Promise.withResolvers<void>()
  const db = hookDatabase(database.pool, {
    after(statement) {
      if (!statement.includes('released as materialized')) return undefined
      stored.resolve()
      return told.promise
    },
  })
  const app = await startTestApp({ database: { ...database, db }, providers: [model.provider] })
  toStop.push(() => app.stop())
  toStop.push(async () => told.resolve())
  const api = talkTo(app)
  const agent = await api.createAgent()
  const waiting = api.send(agent, 'hello', { waitMs: 20_000 })
  const call = await model.nextCall()
  call.say('hi')
  call.finish()
  await stored.promise
  const { agent: of } = await app.data('query ($id: ID!) { agent(id: $id) { runs { nodes { id } } } }', { id: agent })
  await api.watch(of.runs.nodes[0].id).ended
  expect((await waiting).run).toMatchObject({ status: 'COMPLETED', answer: 'hi' })
})
