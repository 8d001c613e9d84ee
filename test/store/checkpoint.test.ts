import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { judged } from '../../src/util/json-schema.ts'

import { openActor } from '../../src/domain/access/actor.ts'
import { advance, endRun, type Effect } from '../../src/domain/runs/advance.ts'
import { addAnswer, addInterruptedAnswer } from '../../src/domain/runs/answer.ts'
import { applyDecisions, resumeIfDecided, type GivenDecision } from '../../src/domain/approvals/decisions.ts'
import { Draft } from '../../src/domain/runs/draft.ts'
import { encodeId } from '../../src/domain/ids.ts'
import type { LiveItem } from '../../src/domain/runs/live-step.ts'
import type { RunState } from '../../src/domain/runs/run-state.ts'
import { hasEnded, transitions, type StoredRunStatus } from '../../src/domain/runs/run.ts'
import { noUsage } from '../../src/domain/models/usage.ts'
import { takeUp } from '../../src/domain/runs/take-up.ts'
import { admitRun } from '../../src/store/runs/admission.ts'
import { writeCheckpoint } from '../../src/store/runs/checkpoint.ts'
import { loadConfiguration, loadRun } from '../../src/store/runs/load-run.ts'
import { listRunsPage } from '../../src/store/runs/run-list.ts'
import { insertWorker } from '../../src/store/workers/workers.ts'
import { defineTool } from '../../src/tools/registry.ts'
import { anyText } from '../support/any-text.ts'
import { createEngineGround, type EngineGround } from '../support/engine-ground.ts'
import { createGatedModel, gatedHandle } from '../support/gated-model.ts'
import { testWorker } from '../support/worker-process.ts'
import { longer } from '../support/long.ts'

const anything = { type: 'object' }
const tools = [
  defineTool({ name: 'plain', description: '', parameters: anything, run: () => '' }),
  defineTool({ name: 'again', description: '', parameters: anything, parallel: true, idempotent: true, run: () => '' }),
  defineTool({ name: 'ask', description: '', parameters: anything, requiresApproval: true, run: () => '' }),
]
let ground: EngineGround
let workerId: string

beforeAll(async () => {
  ground = await createEngineGround({ providers: [createGatedModel().provider], model: gatedHandle, tools })
  const { ids, db } = ground.process()
  workerId = ids.next()
  await insertWorker(db, workerId, testWorker)
})
afterAll(() => ground.close())

async function admit(): Promise<string> {
  const context = ground.process()
  const { conversationId } = await ground.createAgent()
  const id = context.ids.next()
  await admitRun(
    context.db,
    { conversationId },
    {
      id,
      tenantId: ground.viewer.tenantId,
      kind: 'TURN',
      parentId: null,
      sentBy: openActor,
      urgent: false,
      maxSteps: 4,
      maxTotalTokens: null,
      request: {
        messages: [{ role: 'USER', content: [{ text: 'hello' }], clientId: null }],
        clientTools: [{ name: 'client', description: '', parameters: anything }],
      },
      metadata: {},
      createdAt: context.clock.now(),
    },
    { reach: ground.viewer, mayWait: false, driver: null },
  )
  return id
}

async function load(runId: string): Promise<RunState> {
  return (await loadRun(ground.database.db, runId))!.state
}

const statuses = Object.keys(transitions) as StoredRunStatus[]

test('[ENG7] a status changes only as the table of transitions allows, tested for all pairs', async () => {
  const state = await load(await admit())
  for (const from of statuses) {
    for (const to of statuses) {
      const draft = new Draft({ ...state, run: { ...state.run, status: from } }, ground.process())
      const move = () => draft.setStatus(to)
      if (transitions[from].includes(to)) expect(move).not.toThrow()
      else expect(move).toThrow(`from ${from} to ${to}`)
    }
    if (hasEnded(from)) expect(transitions[from]).toEqual(from === 'FAILED' ? ['QUEUED'] : [])
  }
})

test('[ENG8] a checkpoint writes nothing if the run has changed since it was loaded, tested for all pairs', async () => {
  const { db } = ground.database
  const runId = await admit()
  const loaded = await load(runId)
  const change = async (columns: object) => db.updateTable('runs').set(columns).where('id', '=', runId).execute()
  const otherwise = [
    { lease: loaded.run.id, worker_id: loaded.run.id },
    { next_seq: loaded.run.nextSeq + 1 },
    { cancel_requested_at: new Date() },
  ]
  const asLoaded = { status: 'QUEUED', lease: null, worker_id: null, next_seq: 2, cancel_requested_at: null }
  for (const from of statuses) {
    for (const found of statuses.filter((status) => status !== from)) {
      await change({ ...asLoaded, status: found, finished_at: hasEnded(found) ? new Date() : null })
      for (const to of transitions[from]) {
        const draft = new Draft({ ...loaded, run: { ...loaded.run, status: from } }, ground.process())
        draft.changeRun({ finishedAt: draft.at })
        draft.setStatus(to)
        draft.addMessage('USER', { content: [] })
        expect(await writeCheckpoint(db, draft.checkpoint())).toBeUndefined()
      }
    }
  }
  for (const columns of otherwise) {
    await change({ ...asLoaded, finished_at: null, ...columns })
    const draft = new Draft(loaded, ground.process())
    draft.addMessage('USER', { content: [] })
    expect(await writeCheckpoint(db, draft.checkpoint())).toBeUndefined()
  }
  expect(await db.selectFrom('run_log').where('run_id', '=', runId).select('first_seq').execute()).toEqual([])
  const conversation = await db
    .selectFrom('conversations')
    .where('id', '=', loaded.run.conversationId)
    .selectAll()
    .executeTakeFirstOrThrow()
  expect(conversation).toMatchObject({ active_run_id: runId, next_position: 1 })
})

test('[RUN17] a run is found by every model of its steps, whichever follows which', { timeout: 60_000 }, async () => {
  const { db } = ground.database
  const [a, b, c] = ['fake/a', 'fake/b', 'fake/c']
  const models = [a, b, c]
  const model = fc.constantFrom(...models)
  // Each step is asked of one model and answered by one, and what comes next may be stored with it.
  const steps = fc.array(fc.record({ asked: model, answered: model, splits: fc.boolean(), ends: fc.boolean() }))
  const fallsBack = [
    { asked: a, answered: b, splits: true, ends: false },
    { asked: a, answered: a, splits: false, ends: true },
  ]
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const runId = await admit()
      let draft = new Draft(await load(runId), ground.process())
      const store = async () => {
        expect(await writeCheckpoint(db, draft.checkpoint())).toBeDefined()
        draft = new Draft(await load(runId), ground.process())
      }
      for (const { asked, answered, splits, ends } of all) {
        draft.startStep(asked)
        if (splits) await store()
        draft.changeStep({ model: answered })
        if (ends) await store()
      }
      await store()
      const used = new Set(draft.state.steps.map((step) => step.model))
      for (const one of models) {
        const filter = { models: [one], agentIds: [draft.state.agent.id] }
        const { nodes } = await listRunsPage(db, ground.viewer, { filter, page: { first: 10 } })
        expect(nodes.length).toBe(used.has(one) ? 1 : 0)
      }
    }),
    { numRuns: longer(20, 500), examples: [[fallsBack]] },
  )
})

test('[ENG61] a checkpoint reads the settings for the step that it starts, as a separate read would', async () => {
  const { db } = ground.database
  const state = await load(await admit())
  const draft = new Draft(state, ground.process())
  takeUp(draft)
  advance(draft)
  await db.updateTable('agents').set({ instructions: 'New.' }).where('id', '=', state.agent.id).execute()
  const stored = await writeCheckpoint(db, draft.checkpoint(), { withConfiguration: true })
  const current = await loadConfiguration(db, state.agent.id, state.run.memoryConversationId)
  expect(current?.agent.instructions).toBe('New.')
  expect(stored?.configuration).toEqual(current)
})

/** What happens next to a run. Each applies to some states and is skipped in others. */
type Happening =
  | { readonly type: 'answer'; readonly calls: readonly string[]; readonly text: string; readonly ms: number }
  | { readonly type: 'failure' }
  | { readonly type: 'tool'; readonly place: number; readonly output: string }
  | {
      readonly type: 'decide'
      readonly place: number
      readonly kind: GivenDecision['kind']
      readonly followUp: boolean
    }
  | { readonly type: 'cancel' }
  | { readonly type: 'crash' }

const text = anyText({ maxLength: 8 }).map((value) => value.replaceAll('\u0000', '').toWellFormed())
const happening: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('answer' as const),
      calls: fc.array(fc.constantFrom('plain', 'again', 'ask', 'client', 'unknown'), { maxLength: 3 }),
      text,
      ms: fc.double({ min: 0, max: 900_000, noNaN: true }),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ type: 'failure' as const }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('tool' as const), place: fc.nat(3), output: text }) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('decide' as const),
      place: fc.nat(3),
      kind: fc.constantFrom('APPROVED' as const, 'DENIED' as const, 'CLIENT_RETURN' as const),
      followUp: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ type: 'cancel' as const }) },
  { weight: 2, arbitrary: fc.constant({ type: 'crash' as const }) },
)

const numRuns = longer(40, 2_000)

test(
  '[ENG9] the state after a checkpoint equals the state after a reload, whatever happened',
  { timeout: 60_000 + numRuns * 500 },
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(happening, { maxLength: 14 }), async (happenings) => {
        const context = ground.process()
        const runId = await admit()
        let state = await load(runId)
        let effect = { type: 'stop' } as Effect

        async function commit(change: (draft: Draft) => void, { drives }: { readonly drives: boolean }): Promise<void> {
          const draft = await judged('test', () => {
            const draft = new Draft(state, context)
            change(draft)
            if (drives) effect = advance(draft)
            return draft
          })
          expect(await writeCheckpoint(context.db, draft.checkpoint())).toBeDefined()
          state = draft.state
          const { agent, tools: agentTools, inFlight: _, nextPosition, ...stored } = await load(runId)
          expect(state).toEqual({
            agent,
            tools: agentTools,
            inFlight: state.inFlight,
            nextPosition: state.nextPosition,
            ...stored,
          })
          if (hasEnded(state.run.status)) expect(nextPosition).toBe(state.run.nextPosition)
        }
        const takeUpRun = () =>
          commit(
            (draft) => {
              draft.changeRun({ lease: context.ids.next(), workerId })
              takeUp(draft)
            },
            { drives: true },
          )

        await takeUpRun()
        for (const next of happenings) {
          if (hasEnded(state.run.status)) break
          const running = [...state.inFlight]
          const pending = state.calls.filter((call) => call.status === 'PENDING')
          if (next.type === 'answer' && effect.type === 'call model') {
            await commit((draft) => addAnswer(draft, answerOf(next, context)), { drives: true })
          } else if (next.type === 'failure' && effect.type === 'call model') {
            await commit(
              (draft) => {
                draft.excludeFromContext([1])
                endRun(draft, { stopReason: 'LLM_API_ERROR', error: failure })
              },
              { drives: true },
            )
          } else if (next.type === 'tool' && running.length > 0) {
            const result = {
              status: 'SUCCESS' as const,
              output: next.output,
              stdout: ['a'],
              stderr: [],
              truncated: false,
              durationMs: 1.5,
            }
            await commit((draft) => draft.settleCall(running[next.place % running.length]!, 'SUCCEEDED', result), {
              drives: true,
            })
          } else if (next.type === 'decide' && state.run.status === 'AWAITING_APPROVAL') {
            const call = pending[next.place % pending.length]!
            await commit(
              (draft) => {
                applyDecisions(draft, decisionOf(next, encodeId('ToolCall', call.id)), openActor)
                resumeIfDecided(draft)
              },
              { drives: false },
            )
            if (state.calls.every((call) => call.status !== 'PENDING')) await takeUpRun()
          } else if (next.type === 'cancel') {
            const cancelled = { cancel_requested_at: new Date() }
            await context.db.updateTable('runs').set(cancelled).where('id', '=', runId).execute()
            state = { ...state, run: (await load(runId)).run }
            await commit(
              (draft) => {
                if (draft.state.run.status === 'AWAITING_APPROVAL') endRun(draft, { stopReason: 'CANCELLED' })
                else if (effect.type === 'call model')
                  addInterruptedAnswer(draft, itemsOf({ calls: ['plain'], text: 'half' }, context), {
                    ...asked,
                    usage: noUsage,
                    timeToFirstTokenMs: 1,
                    modelMs: 2,
                  })
              },
              { drives: true },
            )
          } else if (next.type === 'crash' && state.run.status === 'RUNNING') {
            state = await load(runId)
            await takeUpRun()
          }
        }
      }),
      { numRuns },
    )
  },
)

const failure = { type: 'LLM_ERROR', message: 'no', detail: null, retryable: true } as const

function itemsOf(
  { calls, text }: { readonly calls: readonly string[]; readonly text: string },
  { ids }: { readonly ids: { next(): string } },
): LiveItem[] {
  const said = {
    id: ids.next(),
    text,
    complete: true,
    redacted: false,
    provider: { model: 'm', data: { a: [1, null] } },
  }
  return [
    { ...said, kind: 'REASONING' },
    { ...said, id: ids.next(), kind: 'ASSISTANT' },
    ...calls.map((name, index): LiveItem => ({
      kind: 'CALL',
      needs: null,
      id: ids.next(),
      name,
      providerCallId: `c${index}`,
      text: '{"a":"\\u0000"}',
      complete: true,
    })),
  ]
}

const asked = { model: 'another/model', failedModels: [{ model: 'a/model', error: failure }], requests: 2 }

function answerOf(
  { calls, text, ms }: Extract<Happening, { type: 'answer' }>,
  context: { readonly ids: { next(): string } },
) {
  const usage = { inputTokens: 3, outputTokens: 2, cachedInputTokens: 1, reasoningTokens: 0, costUsd: ms / 3 }
  return {
    ...asked,
    items: itemsOf({ calls, text }, context),
    usage,
    stopReason: 'END_TURN' as const,
    timeToFirstTokenMs: ms / 2,
    modelMs: ms,
  }
}

function decisionOf({ kind, followUp }: Extract<Happening, { type: 'decide' }>, toolCallId: string) {
  const decisions: Record<GivenDecision['kind'], GivenDecision> = {
    APPROVED: { kind: 'APPROVED', toolCallId, arguments: { b: 1 }, note: null, scope: 'RUN' },
    DENIED: { kind: 'DENIED', toolCallId, reason: null },
    CLIENT_RETURN: { kind: 'CLIENT_RETURN', toolCallId, status: 'ERROR', output: 'x', stdout: [], stderr: [] },
  }
  return {
    decisions: [decisions[kind]],
    followUp: followUp ? [{ role: 'USER' as const, content: [{ text: 'and' }], clientId: null }] : [],
  }
}
