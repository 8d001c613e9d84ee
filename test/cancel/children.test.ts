import { afterAll, expect, test } from 'vitest'

import { encodeId } from '../../src/domain/ids.ts'
import { createGround } from '../support/execute.ts'
import { createFixtures } from '../support/fixtures.ts'

const ground = await createGround()
afterAll(() => ground.close())

test('[CAN24] a child run is cancelled separately, not together with its parent', async () => {
  const make = createFixtures(ground.db)
  const tenant = { tenant_id: ground.viewer.tenantId }
  const start = async (given: object) => {
    const agent = await make.agent(tenant)
    const conversation = await make.conversation({ ...tenant, agent_id: agent.id, is_main: true })
    const run = await make.run(conversation, { status: 'QUEUED', ...given })
    await make.log(run, 1, [{ type: 'stepStarted', index: 0 }])
    const set = { active_run_id: run.id }
    await ground.db.updateTable('conversations').set(set).where('id', '=', conversation.id).execute()
    return run
  }
  const parent = await start({})
  const child = await start({ kind: 'SLEEPTIME', parent_id: parent.id })
  const cancel = (run: { readonly id: string }) =>
    ground.run(
      `mutation ($run: ID!) { cancelRun(input: { runId: $run }) {
        ... on CancelRunSuccess { run { status parent { status } children { status } } } } }`,
      { run: encodeId('Run', run.id) },
    )
  expect(await cancel(parent)).toEqual({
    cancelRun: { run: { status: 'CANCELLED', parent: null, children: [{ status: 'QUEUED' }] } },
  })
  expect(await cancel(child)).toMatchObject({
    cancelRun: { run: { status: 'CANCELLED', parent: { status: 'CANCELLED' } } },
  })
})
