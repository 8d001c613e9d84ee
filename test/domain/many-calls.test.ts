import { expect, test } from 'vitest'

import { advance } from '../../src/domain/runs/advance.ts'
import { defaultModelSettings } from '../../src/domain/models/model-settings.ts'
import { addAnswer } from '../../src/domain/runs/answer.ts'
import { Draft } from '../../src/domain/runs/draft.ts'
import type { RunState } from '../../src/domain/runs/run-state.ts'
import { noUsage } from '../../src/domain/models/usage.ts'
import { createIdSource } from '../../src/util/ids.ts'
import { judged } from '../../src/util/json-schema.ts'
import { systemClock } from '../../src/util/clock.ts'

const count = 10_000
const ids = createIdSource(systemClock)

function tool(name: string, settings: object) {
  const parameters = { type: 'object', properties: { n: { type: 'integer' } } }
  return { approvalOverride: null, tool: { name, kind: 'BUILTIN', parameters, approvalCondition: null, ...settings } }
}

/** A run whose model was just asked, with only the fields that processing an answer needs. */
function askedRun(): RunState {
  return {
    run: {
      status: 'RUNNING',
      steps: 0,
      maxSteps: 50,
      usage: noUsage,
      request: { clientTools: [] },
      approvedTools: [],
      followUps: [],
    },
    agent: { model: 'm', modelSettings: defaultModelSettings, toolRules: [] },
    tools: [tool('together', { parallel: true }), tool('one_by_one', {}), tool('guarded', { requiresApproval: true })],
    steps: [{ index: 0, status: 'RUNNING', usage: noUsage, error: null, modelMs: null, finishedAt: null }],
    calls: [],
    nextPosition: 1,
    budget: 'none',
    inFlight: new Set(),
  } as unknown as RunState
}

test.each([
  ['together', 'run tools', 'RUNNING'],
  ['one_by_one', 'run tools', 'READY'],
  ['guarded', 'stop', 'PENDING'],
  ['no_such_tool', 'call model', 'FAILED'],
])('[PRV34] an answer with 10,000 calls of %s is processed before the test times out', async (name, type, status) => {
  const items = Array.from({ length: count }, (_, n) => ({
    kind: 'CALL' as const,
    needs: null,
    id: ids.next(),
    name,
    providerCallId: `call_${n}`,
    text: `{"n":${n}}`,
    complete: true,
  }))
  const taken = { model: 'm', failedModels: [], requests: 1, usage: noUsage, timeToFirstTokenMs: 1, modelMs: 1 }
  const { draft, effect } = await judged('test', () => {
    const draft = new Draft(askedRun(), { clock: systemClock, ids })
    addAnswer(draft, { ...taken, items, stopReason: 'END_TURN' })
    return { draft, effect: advance(draft) }
  })
  expect(effect).toMatchObject({ type })
  expect(draft.state.calls).toHaveLength(count)
  expect(draft.state.calls.at(-1)).toMatchObject({ status, argumentsText: `{"n":${count - 1}}` })
})
