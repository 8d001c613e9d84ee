import { afterAll, afterEach, expect, test } from 'vitest'

import { createTestDatabase } from '../support/database.ts'
import { hookDatabase, type StatementHooks } from '../support/gated-database.ts'
import { executions, secretAgent, secretOf } from '../support/secret-tools.ts'
import { approve, deny, giveReturn } from '../support/talk.ts'
import { hello, startGround, type Ground } from './ground.ts'

/** Called around every statement of the other process. */
let hooks: StatementHooks = {}

const database = await createTestDatabase()
const ground = await startGround({ database })
const talk = ground.talk
const hooked = hookDatabase(database.pool, {
  before: (...given) => hooks.before?.(...given),
  after: (statement) => hooks.after?.(statement),
})
const other = await startGround(
  { database: { ...database, db: hooked }, env: { HOLDPOINT_WORKERS: '0' } },
  ground.model,
)
afterEach(() => ground.check())
afterAll(async () => {
  await other.app.stop()
  await ground.app.stop()
  await database.close()
})

const three = ['one', 'two', 'three'].map((text) => ['get_secret_code', { text }] as const)

test('[APR30] the last decisions, made at the same moment in two processes, continue the run once', async () => {
  for (let round = 0; round < 3; round += 1) {
    const agent = await talk.createAgent(secretAgent)
    executions.length = 0
    const { runId, calls } = await ground.ask(agent, three)
    const answers = await Promise.all([
      talk.submit(runId, [approve(calls[0])]),
      other.talk.submit(runId, [deny(calls[1])]),
      other.talk.submit(runId, [giveReturn(calls[2], 'mine')]),
    ])
    expect(answers.map((answer) => answer.__typename)).toEqual(Array(3).fill('SubmitApprovalsSuccess'))
    const next = await ground.answer('done')
    expect(next.request.messages.at(-1)).toMatchObject({
      returns: [{ output: secretOf('one') }, { failed: true }, { output: 'mine' }],
    })
    expect(await talk.settled(runId)).toMatchObject({ status: 'COMPLETED' })
    expect(executions).toEqual(['get_secret_code one'])
    const log = await talk.log(runId)
    expect(log.filter((line) => line === 'RunStatusChanged RUNNING')).toHaveLength(2)
  }
})

test('[APR31] of two different decisions about one call at the same moment, one counts and the other is refused', async () => {
  for (let round = 0; round < 4; round += 1) {
    const agent = await talk.createAgent(secretAgent)
    executions.length = 0
    const { runId, calls } = await ground.ask(agent)
    const answers = await Promise.all([
      talk.submit(runId, [approve(calls[0])]),
      other.talk.submit(runId, [deny(calls[0], 'no')]),
    ])
    const [approved, denied] = answers.map((answer) => answer.__typename)
    await ground.answer('done')
    const [call] = (await talk.settled(runId)).steps[0].toolCalls
    expect([approved, denied].toSorted()).toEqual(['AlreadyDecidedRefusal', 'SubmitApprovalsSuccess'])
    expect(call.decision.kind).toBe(approved === 'SubmitApprovalsSuccess' ? 'APPROVED' : 'DENIED')
    expect(executions).toHaveLength(approved === 'SubmitApprovalsSuccess' ? 1 : 0)
  }
})

/** Reads nothing afterwards, so that every statement is one of the decision. */
async function decideBy({ app }: Ground, input: object): Promise<string> {
  const { submitApprovals } = await app.data(
    'mutation ($input: SubmitApprovalsInput!) { submitApprovals(input: $input) { __typename } }',
    { input },
  )
  return submitApprovals.__typename
}

test('[APR32] a decision whose process dies is stored completely or not at all, wherever it dies, and succeeds once when repeated', async () => {
  const statements: string[] = []
  const decide = async (): Promise<void> => {
    const agent = await talk.createAgent({ tools: secretAgent.tools.slice(0, 1) })
    executions.length = 0
    const { runId, calls } = await ground.ask(agent, [
      ['get_secret_code', hello],
      ['get_secret_code', { text: 'other' }],
    ])
    armed = true
    const decisions = [approve(calls[0], { scope: 'AGENT' }), deny(calls[1], 'no')]
    const input = { runId, decisions, followUp: [{ text: 'and then' }], idempotencyKey: `key of ${runId}` }
    const lost = await decideBy(other, input).catch(() => 'lost')
    armed = false
    const { status, pendingToolCalls } = await talk.run(runId, 0, 'status pendingToolCalls { id }')
    if (status === 'AWAITING_APPROVAL') expect(pendingToolCalls).toHaveLength(2)
    else expect(pendingToolCalls).toEqual([])
    expect(await decideBy(ground, input), lost).toBe('SubmitApprovalsSuccess')
    const next = await ground.answer('done')
    expect(next.request.messages.at(-1)).toMatchObject({ role: 'user', content: [{ text: 'and then' }] })
    expect(await talk.settled(runId, 'id')).toMatchObject({ status: 'COMPLETED' })
    expect(executions).toEqual(['get_secret_code hello world'])
    expect((await talk.log(runId)).filter((line) => line === 'RunStatusChanged RUNNING')).toHaveLength(2)
  }
  let armed = false
  hooks = { before: (statement) => void (armed && isOfDecision(statement) && statements.push(statement)) }
  await decide()
  expect(statements.length).toBeGreaterThan(5)

  for (let place = 0; place < statements.length; place += 1) {
    let seen = 0
    const die = (statement: string): void => {
      if (armed && isOfDecision(statement) && seen++ === place) throw new Error('killed')
    }
    // Dying before a statement is the same as dying after the previous one, except for commits.
    hooks = { after: die }
    await decide()
    seen = 0
    hooks = { before: die }
    if (statements[place] === 'commit') await decide()
  }
  hooks = {}
})

/** The sweep runs at the same time. */
function isOfDecision(statement: string): boolean {
  return !/from workers|pending and expires_at|next_seq" from "runs"/.test(statement)
}

test('[APR33] a pause outlives the process: another one continues the same run and the same stream', async () => {
  const agent = await talk.createAgent(secretAgent)
  const third = await startGround({ database }, ground.model)
  const { runId, calls } = await third.ask(agent)
  const watch = talk.watch(runId)
  await watch.until((line) => line === 'RunStatusChanged AWAITING_APPROVAL')
  await third.app.stop()
  await talk.submit(runId, [approve(calls[0])])
  await ground.answer('done')
  await watch.ended
  expect(watch.lines.filter((line) => line.startsWith('RunStatusChanged')).slice(1)).toEqual([
    'RunStatusChanged RUNNING',
    'RunStatusChanged AWAITING_APPROVAL',
    'RunStatusChanged RUNNING',
    'RunStatusChanged COMPLETED',
  ])
})
