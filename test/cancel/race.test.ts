import { setTimeout as sleep } from 'node:timers/promises'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import type { ModelPart, ModelRequest } from '../../src/domain/models/model-request.ts'
import { noUsage } from '../../src/domain/models/usage.ts'
import type { Provider } from '../../src/providers/provider.ts'
import type { OpenDatabase } from '../../src/store/database/open-database.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { createTestDatabase } from '../support/database.ts'
import { hookDatabase } from '../support/gated-database.ts'
import { gatedHandle } from '../support/gated-model.ts'
import { executions, secretTools } from '../support/secret-tools.ts'
import { approve, talkTo, type Talk } from '../support/talk.ts'
import { faultOfRequest } from '../support/well-formed.ts'

/** Calls two tools, one of which waits for approval, and then answers. */
const requests: ModelRequest[] = []
const provider: Provider = {
  name: 'test',
  models: () => [{ handle: gatedHandle, provider: 'test', contextWindow: 100_000 }],
  requestBody: () => ({}),
  async *stream(request): AsyncGenerator<ModelPart> {
    requests.push(request)
    const last = request.messages.at(-1)!
    const asked = last.role === 'user' && JSON.stringify(last.content).includes('go')
    yield { type: 'text', item: 'text', text: asked ? 'working' : 'done' }
    if (asked) {
      for (const [item, name, args] of [
        ['a', 'roll_dice', '{"sides":6}'],
        ['b', 'get_secret_code', '{"text":"x"}'],
      ] as const) {
        yield { type: 'call', item, callId: `call_${item}`, name }
        yield { type: 'arguments', item, text: args }
        yield { type: 'done', item }
      }
    }
    yield { type: 'finish', reason: 'end', usage: noUsage }
  },
}

/** The name of a run's statement. Undefined for statements that concern something else. */
function nameOf(statement: string): string | undefined {
  if (/^(begin|commit)$/.test(statement)) return statement
  // Workers also look for runs when there are none. After a claim comes the checkpoint of the take-up.
  if (statement.includes('claimed as')) return undefined
  if (statement.includes('insert into runs')) return 'admission'
  if (/update runs set\s+status/.test(statement)) return 'checkpoint'
  if (statement.includes('as conversation_position')) return 'load run'
  if (statement.includes('for no key update of runs')) return 'lock'
  if (statement.includes('from messages join runs')) return 'load context'
  if (statement.includes(' as agent,')) return 'load configuration'
  return undefined
}

/** A gate at one statement: it waits there until the gate is opened. */
interface Gate {
  readonly point: 'before' | 'after'
  readonly place: number
  readonly reached: PromiseWithResolvers<void>
  readonly opened: PromiseWithResolvers<void>
}
let gate: Gate | undefined
let counts = { before: 0, after: 0 }
let seen: string[] = []

async function pass(point: 'before' | 'after', statement: string): Promise<void> {
  const name = nameOf(statement)
  if (!name) return
  const place = counts[point]++
  if (point === 'before') seen.push(name)
  if (gate?.point !== point || gate.place !== place) return
  gate.reached.resolve()
  await gate.opened.promise
}

describe.each(['one process', 'two processes'])('%s', (processes) => {
  let database: OpenDatabase
  let api: TestApp
  let worker: TestApp | undefined
  let talk: Talk
  let tools: readonly object[]

  beforeAll(async () => {
    database = await createTestDatabase()
    const hooked: OpenDatabase = {
      ...database,
      db: hookDatabase(database.pool, {
        before: (statement) => pass('before', statement),
        after: (statement) => pass('after', statement),
      }),
    }
    const options = { providers: [provider], tools: secretTools }
    if (processes === 'one process') api = await startTestApp({ ...options, database: hooked })
    else {
      worker = await startTestApp({ ...options, database: hooked, role: 'worker' })
      api = await startTestApp({ ...options, database, env: { HOLDPOINT_WORKERS: '0' } })
    }
    talk = talkTo(api)
    tools = [
      { toolId: await talk.toolId('get_secret_code'), approvalOverride: true },
      { toolId: await talk.toolId('roll_dice') },
    ]
  })
  afterAll(async () => {
    await worker?.app.stop()
    await api.app.stop()
    await database.close()
  })

  async function createAgent(): Promise<string> {
    const { createAgent: created } = await api.data(
      'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }',
      { input: { name: 'a', model: gatedHandle, includeBaseTools: false, tools } },
    )
    return created.agent.id
  }

  /** A whole run, from the message to its end, with an approval. */
  async function play(agent: string): Promise<any> {
    const runId = await talk.start(agent, 'go')
    const paused = await talk.settled(runId, 'steps { toolCalls { id status } }')
    // One field may be slightly older than another, because the cancel may have come in between.
    const call = paused.steps[0]?.toolCalls.find((each: any) => each.status === 'PENDING')
    if (call)
      await api.data('mutation ($input: SubmitApprovalsInput!) { submitApprovals(input: $input) { __typename } }', {
        input: { runId, decisions: [approve(call)] },
      })
    return talk.settled(runId)
  }

  async function cancel(agentId: string): Promise<string> {
    const { cancelRun } = await api.data(
      'mutation ($input: CancelRunInput!) { cancelRun(input: $input) { __typename } }',
      { input: { agentId } },
    )
    return cancelRun.__typename
  }

  /** The cancel is stored, or waits for a lock, or there was nothing to cancel. */
  async function underWay(cancelling: Promise<unknown>): Promise<void> {
    let answered = false as boolean
    void cancelling.then(() => (answered = true))
    while (!answered) {
      const { rows } = await database.pool.query(
        `select (select count(*) from runs where not ended and cancel_requested_at is not null) +
          (select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock') as count`,
      )
      if (rows[0].count > 0) return
      await sleep(5)
    }
  }

  async function cancelAt(point: Gate['point'], place: number): Promise<string> {
    const agent = await createAgent()
    executions.length = 0
    const here: Gate = { point, place, reached: Promise.withResolvers<void>(), opened: Promise.withResolvers<void>() }
    counts = { before: 0, after: 0 }
    gate = here
    const playing = play(agent)
    // A place after the last statement is never reached: then the run has ended.
    await Promise.race([here.reached.promise, playing])
    const cancelling = cancel(agent)
    await underWay(cancelling)
    here.opened.resolve()
    const answer = await cancelling
    const asked = requests.length
    const run = await playing
    gate = undefined

    expect(run.status).toBe(answer === 'CancelRunSuccess' ? 'CANCELLED' : 'COMPLETED')
    if (run.status === 'CANCELLED') expect(requests.length).toBe(asked)
    else expect(answer).toBe('NothingToCancelRefusal')
    const log = await talk.log(run.id)
    expect(log.filter((line) => /^RunStatusChanged (COMPLETED|FAILED|CANCELLED)$/.test(line))).toEqual([log.at(-1)])
    expect(log.at(-1)).toBe(`RunStatusChanged ${run.status}`)
    const returns = run.messages.nodes.filter((message: any) => message.__typename === 'ToolReturnMessage')
    expect(returns).toHaveLength(run.steps[0]?.toolCalls.length ? 1 : 0)
    for (const call of run.steps.flatMap((step: any) => step.toolCalls)) {
      expect(['SUCCEEDED', 'CANCELLED']).toContain(call.status)
      expect(call.result).not.toBeNull()
      expect(executions.filter((line) => line.startsWith(call.name)).length).toBe(call.status === 'SUCCEEDED' ? 1 : 0)
    }
    expect(run.conversation.activeRun).toBeNull()

    const next = await talk.settled(await talk.start(agent, 'hello'), 'answer')
    expect(next).toEqual({ status: 'COMPLETED', answer: 'done' })
    expect(faultOfRequest(requests.at(-1)!)).toBeUndefined()
    return run.status
  }

  test('[CAN23] a cancel at any named point of a run ends it once, and the conversation continues to work', async () => {
    const agent = await createAgent()
    counts = { before: 0, after: 0 }
    seen = []
    await play(agent)
    const named = [...seen]
    expect(named.filter((name) => name === 'checkpoint').length).toBeGreaterThan(5)

    const ends = new Set<string>()
    for (const [place, name] of named.entries()) {
      // Between a commit and its announcement, and before anything is stored.
      const points = ['checkpoint', 'commit', 'admission'].includes(name)
        ? (['before', 'after'] as const)
        : (['after'] as const)
      for (const point of points) {
        const what = `${point} ${name} (${place})`
        ends.add(
          await cancelAt(point, place).catch((error: unknown) => {
            throw new Error(what, { cause: error })
          }),
        )
      }
    }
    expect(ends).toContain('CANCELLED')
    expect(await cancelAt('after', Infinity)).toBe('COMPLETED')
  }, 120_000)
})
