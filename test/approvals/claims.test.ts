import { afterAll, afterEach, expect, onTestFinished, test } from 'vitest'

import { createTestDatabase } from '../support/database.ts'
import { hookDatabase, type StatementHooks } from '../support/gated-database.ts'
import { secretAgent } from '../support/secret-tools.ts'
import { approve, giveReturn } from '../support/talk.ts'
import { hello, startGround, type Ground } from './ground.ts'

let hooks: StatementHooks = {}
/** How far the other process's clock is ahead. */
let ahead = 0

const database = await createTestDatabase()
const ground = await startGround({ database })
const talk = ground.talk
const hooked = hookDatabase(database.pool, {
  before: (...given) => hooks.before?.(...given),
  after: (statement) => hooks.after?.(statement),
})
const clock = { now: () => new Date(Date.now() + ahead) }
const env = { HOLDPOINT_WORKERS: '0' }
const other = await startGround({ database: { ...database, db: hooked }, env, clock }, ground.model)
afterEach(() => ground.check())
afterAll(async () => {
  await other.app.stop()
  await ground.app.stop()
  await database.close()
})

const clientTools = [{ name: 'open_door', parameters: { type: 'object' } }]
const ask = async () =>
  ground.ask(
    await talk.createAgent(secretAgent),
    [
      ['open_door', {}],
      ['get_secret_code', hello],
    ],
    { clientTools },
  )

async function claim({ app }: Ground, call: { readonly id: string }, claimantId: string, leaseMs = 60_000) {
  const { claimToolCall } = await app.data(
    `mutation ($input: ClaimToolCallInput!) { claimToolCall(input: $input) { __typename
      ... on ClaimToolCallSuccess { toolCall { status claim { claimantId claimedBy { id } expiresAt } } }
      ... on Refusal { message } ... on ToolCallClaimedRefusal { toolCall { claim { claimantId } } }
      ... on NoPendingApprovalRefusal { run { id } } ... on AlreadyDecidedRefusal { decisions { kind toolReturn } } } }`,
    { input: { toolCallId: call.id, claimantId, leaseMs } },
  )
  return claimToolCall
}

async function claimOf({ app }: Ground, call: { readonly id: string }) {
  const { node } = await app.data('query ($id: ID!) { node(id: $id) { ... on ToolCall { claim { claimantId } } } }', {
    id: call.id,
  })
  return node.claim
}

const granted = { __typename: 'ClaimToolCallSuccess' }

test('[CLM1] only one of several clients gets the claim and may extend it; the others are told who has it', async () => {
  const { runId, calls } = await ask()
  const ids = ['tab 1', 'tab 2', 'tab 3']
  const answers = await Promise.all(ids.map((id, index) => claim(index % 2 ? other : ground, calls[0], id)))
  const winner = ids[answers.findIndex((answer) => answer.__typename === 'ClaimToolCallSuccess')]!
  expect(answers.filter((answer) => answer.__typename === 'ToolCallClaimedRefusal')).toEqual(
    [1, 2].map(() => ({
      __typename: 'ToolCallClaimedRefusal',
      message: expect.any(String),
      toolCall: { claim: { claimantId: winner } },
    })),
  )
  const first = await claim(ground, calls[0], winner)
  const second = await claim(other, calls[0], winner, 3_600_000)
  expect(second.toolCall).toMatchObject({ status: 'PENDING', claim: { claimantId: winner, claimedBy: { id: 'open' } } })
  expect(new Date(second.toolCall.claim.expiresAt) > new Date(first.toolCall.claim.expiresAt)).toBe(true)
  await talk.cancel({ runId })
})

test('[CLM2] an expired claim is void, and another client may claim the call', async () => {
  const { runId, calls } = await ask()
  expect(await claim(ground, calls[0], 'tab 1', 1_000)).toMatchObject(granted)
  expect(await claimOf(other, calls[0])).toEqual({ claimantId: 'tab 1' })
  ahead = 1_000
  expect(await claimOf(other, calls[0])).toBeNull()
  expect(await claim(other, calls[0], 'tab 2')).toMatchObject(granted)
  ahead = 0
  expect(await claimOf(ground, calls[0])).toEqual({ claimantId: 'tab 2' })
  await talk.cancel({ runId })
})

test('[CLM3] the first result counts, whoever has the claim; the stream and the inbox show the claim', async () => {
  const { runId, calls } = await ask()
  const watch = talk.watch(runId)
  const socket = ground.app.webSocket()
  const inbox = socket.stream(
    `subscription { approvalInbox(needs: [CLIENT_EXECUTION]) { __typename
      ... on InboxSnapshot { toolCalls { id claim { claimantId } } } ... on InboxAdded { toolCall { id claim { claimantId } } }
      ... on InboxRemoved { toolCall { id } } } }`,
  )
  const next = async () => (await inbox.next())!.data.approvalInbox
  expect(await next()).toMatchObject({ toolCalls: [{ id: calls[0].id, claim: null }] })
  await claim(other, calls[0], 'tab 1')
  expect(await next()).toMatchObject({
    __typename: 'InboxAdded',
    toolCall: { id: calls[0].id, claim: { claimantId: 'tab 1' } },
  })
  await talk.submit(runId, [giveReturn(calls[0], 'open'), approve(calls[1])])
  expect(await next()).toMatchObject({ __typename: 'InboxRemoved', toolCall: { id: calls[0].id } })
  await inbox.close()
  await socket.dispose()
  await ground.answer('done')
  await watch.ended
  expect(watch.lines.filter((line) => line.startsWith('ToolCallChanged open_door'))).toEqual([
    'ToolCallChanged open_door PENDING',
    'ToolCallChanged open_door PENDING',
    'ToolCallChanged open_door SUCCEEDED',
  ])
  expect(await claim(ground, calls[0], 'tab 2')).toMatchObject({
    __typename: 'AlreadyDecidedRefusal',
    decisions: [{ kind: 'CLIENT_RETURN', toolReturn: 'open' }],
  })
  expect(await claimOf(ground, calls[0])).toBeNull()
})

test('[CLM4] a call that does not wait, or waits for approval, cannot be claimed', async () => {
  const { runId, calls } = await ask()
  const input = { toolCallId: calls[1].id, claimantId: 'tab 1' }
  const mutation = 'mutation ($input: ClaimToolCallInput!) { claimToolCall(input: $input) { __typename } }'
  const codeOf = async (given: object) => (await ground.app.request(mutation, { input: given })).errors?.[0]?.extensions
  expect(await codeOf(input)).toMatchObject({ code: 'BAD_USER_INPUT', field: 'input.toolCallId' })
  expect(await codeOf({ ...input, claimantId: '' })).toMatchObject({ field: 'input.claimantId' })
  for (const leaseMs of [0, 3_600_001])
    expect(await codeOf({ ...input, leaseMs })).toMatchObject({ field: 'input.leaseMs' })
  const nobody = `call_${'0'.repeat(32)}`
  for (const id of [nobody, 'x'])
    expect(await codeOf({ ...input, toolCallId: id })).toMatchObject({ code: 'NOT_FOUND' })
  await talk.cancel({ runId })
  for (const call of calls) {
    expect(await claim(ground, call, 'tab 1')).toMatchObject({
      __typename: 'NoPendingApprovalRefusal',
      run: { id: runId },
    })
  }
})

test('[CLM5] a claim whose process dies is stored completely or not at all, and the call can still be answered', async () => {
  const statements: string[] = []
  let armed = false
  // The sweep of the process has statements of its own. It waits before the first of them until the test is over.
  const held = Promise.withResolvers<void>()
  const over = Promise.withResolvers<void>()
  onTestFinished(() => over.resolve())
  const holdSweep = (statement: string): Promise<void> | undefined => {
    if (!statement.includes('json_agg(worker)')) return undefined
    held.resolve()
    return over.promise
  }
  hooks = { before: holdSweep }
  await held.promise
  const attempt = async () => {
    const { runId, calls } = await ask()
    armed = true
    const lost = await claim(other, calls[0], 'tab 1').catch(() => undefined)
    armed = false
    const kept = await claimOf(ground, calls[0])
    if (lost?.__typename === 'ClaimToolCallSuccess') expect(kept).toEqual({ claimantId: 'tab 1' })
    expect(await claim(ground, calls[0], 'tab 1')).toMatchObject(granted)
    await talk.submit(runId, [giveReturn(calls[0], 'open'), approve(calls[1])])
    await ground.answer('done')
    expect(await talk.settled(runId)).toMatchObject({ status: 'COMPLETED' })
  }
  hooks = { before: (statement) => holdSweep(statement) ?? void (armed && statements.push(statement)) }
  await attempt()
  expect(statements.filter((statement) => statement === 'commit')).toHaveLength(1)
  for (let place = 0; place < statements.length; place += 1) {
    let seen = 0
    hooks = {
      before: holdSweep,
      after: () => {
        if (armed && seen++ === place) throw new Error('killed')
      },
    }
    await attempt()
  }
  hooks = {}
})
