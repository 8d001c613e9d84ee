import { afterAll, afterEach, expect, test } from 'vitest'

import { defineTool, type ToolDefinition } from '../../src/tools/registry.ts'
import { createLog } from '../../src/util/log.ts'
import { startTestApp, type TestApp, type TestAppOptions } from '../support/app.ts'
import { createTestDatabase } from '../support/database.ts'
import { createGatedModel, gatedHandle } from '../support/gated-model.ts'
import { talkTo } from '../support/talk.ts'

let app: TestApp
const model = createGatedModel()
const database = await createTestDatabase()
afterEach(() => app.stop())
afterAll(() => database.close())

const pay = (settings: Partial<ToolDefinition> = {}) =>
  defineTool({ name: 'pay', description: 'Pays.', parameters: { type: 'object' }, run: () => 'paid', ...settings })

/** A server with these tools in code, and what it logged during the start. */
async function start(tools: readonly ToolDefinition[], options: TestAppOptions = {}) {
  const logged: unknown[] = []
  const log = createLog('fatal')
  const info = (facts: unknown) => logged.push(facts)
  app = await startTestApp({
    database,
    providers: [model.provider],
    tools,
    log: Object.assign(log, { info }),
    ...options,
  })
  return logged
}

const fields =
  'id name description isAvailable requiresApproval approvalCondition approvalTimeoutMs timeoutMs returnCharLimit tags'
async function stored(name = 'pay') {
  const { tools } = await app.data(`{ tools(first: 100) { nodes { ${fields} } } }`)
  return tools.nodes.find((tool: { name: string }) => tool.name === name)
}
const update = (input: object) =>
  app.data('mutation ($input: UpdateToolInput!) { updateTool(input: $input) { tool { id } } }', { input })
const remove = (id: string) =>
  app.request('mutation ($id: ID!) { deleteTool(input: { id: $id }) { deletedId } }', { id })

const first = { requiresApproval: true, timeoutMs: 5_000, tags: ['money'] }
const condition = { properties: { sum: { minimum: 100 } } }

test('[COD4] settings of a tool in code take effect at the next start, unless a client has changed them', async () => {
  await start([pay(first)])
  expect(await stored()).toMatchObject({ ...first, isAvailable: true, approvalCondition: null })
  await app.stop()

  const second = { approvalCondition: condition, approvalTimeoutMs: 60_000, timeoutMs: 9_000, tags: ['bank'] }
  expect(await start([pay(second)])).toEqual([])
  const tool = await stored()
  expect(tool).toMatchObject({ ...second, requiresApproval: false })
  await update({ id: tool.id, timeoutMs: 1_000, tags: [] })
  await app.stop()

  const logged = await start([pay({ ...second, timeoutMs: 20_000, returnCharLimit: 77 })])
  expect(await stored()).toMatchObject({ ...second, timeoutMs: 1_000, tags: [], returnCharLimit: 77 })
  expect(logged).toEqual([{ tool: 'pay', settings: ['timeoutMs', 'tags'] }])
})

test('[COD5] a tool that is gone from the code is unavailable, is not offered, and can be deleted or come back', async () => {
  const keep = pay({ name: 'keep' })
  await start([pay(), keep])
  const { id } = await stored()
  expect((await remove(id)).errors![0]!.extensions).toMatchObject({ code: 'BAD_USER_INPUT' })
  const agent = await talkTo(app).createAgent({ model: gatedHandle, tools: ['pay', 'keep'] })
  await app.stop()

  // A process that drives no runs does not make tools unavailable.
  await start([keep], { env: { HOLDPOINT_WORKERS: '0' } })
  expect(await stored()).toMatchObject({ isAvailable: true })
  await app.stop()

  await start([keep])
  expect(await stored()).toMatchObject({ isAvailable: false })
  const talk = talkTo(app)
  const run = await talk.start(agent, 'pay')
  const call = await model.nextCall()
  expect(call.request.tools.map(({ name }) => name)).toEqual(['keep'])
  call.finish()
  await talk.settled(run)
  await app.stop()

  await start([pay(), keep])
  expect(await stored()).toMatchObject({ id, isAvailable: true })
  await app.stop()
  await start([keep])
  expect((await remove(id)).data).toEqual({ deleteTool: { deletedId: id } })
  expect(await stored()).toBeUndefined()
})

test('[COD8] a tool in code needs no description: it is empty, as it is for a tool that a client makes', async () => {
  const { description: _description, ...bare } = pay()
  await start([bare])
  expect(await stored()).toMatchObject({ description: '' })
})
