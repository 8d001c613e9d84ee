import { afterAll, expect, test } from 'vitest'

import { startGround } from '../approvals/ground.ts'
import { createGraphQLClient } from '../support/graphql-client.ts'
import { secretAgent } from '../support/secret-tools.ts'
import { approve, talkTo, type Talk } from '../support/talk.ts'

const ground = await startGround({ env: { HOLDPOINT_API_KEY: 'hp_admin' } })
const clientOf = (secret: string) => createGraphQLClient(ground.app.url, { authorization: `Bearer ${secret}` })
const admin = talkTo(clientOf('hp_admin'))
afterAll(() => ground.app.stop())

async function tokenOf(id: string): Promise<string> {
  const { createToken } = await clientOf('hp_admin').data(
    'mutation ($input: CreateTokenInput!) { createToken(input: $input) { token } }',
    { input: { subject: id, name: id.toUpperCase(), scopes: ['READ', 'RUN', 'APPROVE'] } },
  )
  return createToken.token
}
const person = async (id: string): Promise<Talk> => talkTo(clientOf(await tokenOf(id)))

const actor = (id: string) => ({ kind: 'PERSON', id, name: id.toUpperCase() })
const fields = 'kind id name'

async function read(runId: string): Promise<any> {
  const { run } = await clientOf('hp_admin').data(
    `query ($id: ID!) { run(id: $id) { status sentBy { ${fields} } cancelledBy { ${fields} }
      steps { toolCalls { decision { decidedBy actor { ${fields} } } } }
      messages { nodes { ... on UserMessage { text sentBy { ${fields} } } } } } }`,
    { id: runId },
  )
  return run
}

const texts = (run: any) => run.messages.nodes.flatMap((one: any) => (one.text ? [[one.text, one.sentBy?.id]] : []))

test('[ACT1] a message, a follow-up and a decision each name the person they came from', async () => {
  const [ada, grace] = [await person('ada'), await person('grace')]
  const agent = await admin.createAgent(secretAgent)
  const runId = await ada.start(agent, 'call the tool')
  await ground.call(['get_secret_code', { text: 'x' }])
  const [call] = await ada.pending(runId)
  await grace.submit(runId, [approve(call)], { followUp: [{ text: 'and be quick' }] })
  await ground.answer('done')
  await admin.settled(runId)
  const run = await read(runId)
  expect(run).toMatchObject({ status: 'COMPLETED', sentBy: actor('ada'), cancelledBy: null })
  expect(texts(run)).toEqual([
    ['call the tool', 'ada'],
    ['and be quick', 'grace'],
  ])
  expect(run.steps[0].toolCalls[0].decision).toEqual({ decidedBy: 'GRACE', actor: actor('grace') })
})

test('[ACT1] whoever asks for another version of a turn has started it; its message keeps its sender', async () => {
  const [ada, grace] = [await person('ada'), await person('grace')]
  const agent = await admin.createAgent(secretAgent)
  const first = await ada.start(agent, 'a question')
  await ground.answer('one')
  await admin.settled(first)
  const { regenerate } = await clientOf(await tokenOf('grace')).data(
    'mutation ($id: ID!) { regenerate(input: { runId: $id }) { ... on RegenerateSuccess { run { id } } } }',
    { id: first },
  )
  await ground.answer('two')
  await grace.settled(regenerate.run.id)
  const run = await read(regenerate.run.id)
  expect(run.sentBy).toEqual(actor('grace'))
  expect(texts(run)).toEqual([['a question', 'ada']])
})

test('[ACT2] a run names who cancelled it: while it waits, while a worker drives it, and by INTERRUPT', async () => {
  const [ada, grace] = [await person('ada'), await person('grace')]
  const agent = await admin.createAgent(secretAgent)
  const first = await ada.start(agent, 'first')
  const call = await ground.model.nextCall()
  const queued = await ada.start(agent, 'second', { whenBusy: 'ENQUEUE' })
  await grace.cancel({ runId: queued })
  expect(await read(queued)).toMatchObject({ status: 'CANCELLED', cancelledBy: actor('grace') })

  await grace.cancel({ agentId: agent })
  await call.aborted
  expect(await read(first)).toMatchObject({ status: 'CANCELLED', cancelledBy: actor('grace'), sentBy: actor('ada') })
  // The first cancel counts.
  await ada.cancel({ runId: first })
  expect((await read(first)).cancelledBy).toEqual(actor('grace'))

  const third = await grace.start(agent, 'third')
  const thirdCall = await ground.model.nextCall()
  const fourth = await ada.start(agent, 'fourth', { whenBusy: 'INTERRUPT' })
  await thirdCall.aborted
  await ground.answer('four')
  await admin.settled(fourth)
  expect(await read(third)).toMatchObject({ status: 'CANCELLED', cancelledBy: actor('ada') })
})

test('[ACT2] a run that waits for approval names who cancelled it', async () => {
  const [ada, grace] = [await person('ada'), await person('grace')]
  const agent = await admin.createAgent(secretAgent)
  const runId = await ada.start(agent, 'call the tool')
  await ground.call(['get_secret_code', { text: 'x' }])
  await ada.pending(runId)
  await grace.cancel({ runId })
  expect(await read(runId)).toMatchObject({ status: 'CANCELLED', cancelledBy: actor('grace') })
})
