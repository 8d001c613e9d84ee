import { describe, expect, test } from 'vitest'

import { defaultCompaction, type Agent } from '../../src/domain/agents/agent.ts'
import { defaultModelSettings } from '../../src/domain/models/model-settings.ts'
import { nextAction } from '../../src/domain/runs/next-action.ts'
import type { DrivenRun, RunState } from '../../src/domain/runs/run-state.ts'
import { noUsage } from '../../src/domain/models/usage.ts'
import type { Step } from '../../src/domain/runs/step.ts'
import type { ToolCall } from '../../src/domain/tools/tool-call.ts'
import type { ToolRule } from '../../src/domain/tools/tool-rules.ts'
import { toolDefaults, type AgentTool } from '../../src/domain/tools/tool.ts'

const at = new Date('2026-01-01')

const run: DrivenRun = {
  id: 'run',
  tenantId: 'tenant',
  agentId: 'agent',
  conversationId: 'conversation',
  number: 1,
  hold: 1,
  previousHold: 0,
  resumed: null,
  kind: 'TURN',
  parentId: null,
  scheduleId: null,
  sentBy: null,
  maxSteps: 5,
  maxTotalTokens: null,
  request: { messages: [], clientTools: [] },
  metadata: {},
  status: 'RUNNING',
  stopReason: null,
  error: null,
  hasOutput: false,
  nextSeq: 2,
  firstPosition: 1,
  nextPosition: 2,
  attempts: 1,
  cancelRequestedAt: null,
  cancelledBy: null,
  usage: noUsage,
  steps: 1,
  createdAt: at,
  updatedAt: at,
  startedAt: at,
  finishedAt: null,
  lease: 'lease',
  workerId: 'worker',
  deaths: 0,
  followUps: [],
  approvedTools: [],
  allowance: { usd: null, tokens: null },
  reading: null,
  traceparent: null,
  memoryConversationId: 'conversation',
}
const agent: Agent = {
  id: 'agent',
  tenantId: 'tenant',
  key: null,
  name: 'a',
  description: null,
  embeddingModel: null,
  instructions: '',
  model: 'm',
  modelSettings: defaultModelSettings,
  toolRules: [],
  compaction: defaultCompaction,
  tags: [],
  metadata: {},
  timezone: 'UTC',
  keepRequests: false,
  tellTimes: false,
  createdAt: at,
  updatedAt: at,
}
const answered: Step = {
  runId: 'run',
  index: 0,
  attempt: 1,
  model: 'm',
  failedModels: [],
  status: 'RUNNING',
  stopReason: null,
  usage: noUsage,
  timeToFirstTokenMs: 1,
  modelMs: 2,
  toolsMs: null,
  error: null,
  createdAt: at,
  finishedAt: null,
}
const asked: Step = { ...answered, timeToFirstTokenMs: null, modelMs: null }
const finished: Step = { ...answered, status: 'COMPLETED', finishedAt: at }
const faulty: Step = {
  ...finished,
  stopReason: 'RESPONSE_SCHEMA_NOT_SATISFIED',
  error: { type: 'LLM_ERROR', message: 'Not so.', detail: null, retryable: true },
}

function agentTool(name: string, { parallel }: { readonly parallel: boolean }): AgentTool {
  const tool: AgentTool['tool'] = {
    ...toolDefaults,
    id: name,
    tenantId: 'tenant',
    name,
    description: '',
    kind: 'BUILTIN',
    parameters: { type: 'object' },
    requiresApproval: false,
    approvalCondition: null,
    approvalsRequired: 1,
    approvalExcludesSender: false,
    approvalTimeoutMs: null,
    parallel,
    idempotent: false,
    tags: [],
    isAvailable: true,
    createdAt: at,
    updatedAt: at,
  }
  return { id: name, agentId: 'agent', tool, approvalOverride: null }
}

/** `serial` and `together` are tools; the call's id is its place. */
function call(ordinal: number, name: string, status: ToolCall['status']): ToolCall {
  return {
    id: `${ordinal}`,
    tenantId: 'tenant',
    runId: 'run',
    stepIndex: 0,
    ordinal,
    providerCallId: `${ordinal}`,
    name,
    argumentsText: '{}',
    arguments: {},
    editedArguments: null,
    needs: 'NOTHING',
    status,
    approval: null,
    claim: null,
    decision: null,
    decidedAt: null,
    result: null,
    createdAt: at,
    expiresAt: null,
    startedAt: status === 'READY' || status === 'PENDING' || status === 'DENIED' ? null : at,
    finishedAt: null,
  }
}

interface Given {
  readonly run?: Partial<DrivenRun>
  readonly steps?: readonly Step[]
  readonly calls?: readonly ToolCall[]
  readonly inFlight?: readonly string[]
  readonly rules?: readonly ToolRule[]
  readonly budget?: RunState['budget']
}

function stateOf(given: Given): RunState {
  const { run: change = {}, steps = [answered], calls = [], inFlight = [], rules = [], budget = 'none' } = given
  return {
    run: { ...run, ...change },
    agent: { ...agent, toolRules: rules },
    tools: [agentTool('serial', { parallel: false }), agentTool('together', { parallel: true })],
    steps,
    calls,
    nextPosition: 1,
    inFlight: new Set(inFlight),
    budget,
  }
}

const cancelled = { cancelRequestedAt: at }
const followUps = [{ role: 'USER' as const, content: [], clientId: null }]
const terminal: ToolRule[] = [{ kind: 'TERMINAL', tool: 'serial' }]

const table: readonly [string, Given, object][] = [
  ['nothing was asked yet', { steps: [] }, { type: 'call model' }],
  ['the model was asked and has not answered', { steps: [asked] }, { type: 'call model' }],
  ['a budget applies', { steps: [], budget: 'unchecked' }, { type: 'check budget' }],
  [
    'a budget applies, and the model has not answered',
    { steps: [asked], budget: 'unchecked' },
    { type: 'check budget' },
  ],
  ['a budget has something left', { steps: [], budget: 'open' }, { type: 'call model' }],
  ['a budget is used up', { steps: [], budget: 'STOP' }, { type: 'end', stopReason: 'BUDGET_EXCEEDED' }],
  ['a budget that asks is used up', { steps: [asked], budget: 'ASK' }, { type: 'pause for budget' }],
  [
    'a budget is used up, and the answer has no calls',
    { steps: [finished], budget: 'STOP' },
    { type: 'end', stopReason: 'END_TURN' },
  ],
  [
    'a budget is used up, and a compaction is asked for',
    { run: { kind: 'COMPACTION', firstPosition: null }, steps: [], budget: 'ASK' },
    { type: 'pause for budget' },
  ],
  [
    'a cancel was asked for and a budget is used up',
    { run: cancelled, steps: [asked], budget: 'ASK' },
    { type: 'wind down' },
  ],
  ['the answer has no calls', { steps: [finished] }, { type: 'end', stopReason: 'END_TURN' }],
  [
    'the answer was cut',
    { steps: [{ ...finished, stopReason: 'MAX_TOKENS_EXCEEDED' }] },
    { type: 'end', stopReason: 'MAX_TOKENS_EXCEEDED' },
  ],
  ['a cancel was asked for', { run: cancelled, steps: [asked] }, { type: 'wind down' }],
  [
    'a cancel, and a call that waits for a person',
    { run: cancelled, calls: [call(0, 'serial', 'PENDING')] },
    { type: 'wind down' },
  ],
  [
    'a cancel, and a call that runs here',
    { run: cancelled, calls: [call(0, 'serial', 'RUNNING')], inFlight: ['0'] },
    { type: 'wait for tools' },
  ],
  [
    'a cancel, and a call whose worker is gone',
    { run: cancelled, calls: [call(0, 'serial', 'RUNNING')] },
    { type: 'wind down' },
  ],
  [
    'a call whose worker is gone, and one that waits',
    { calls: [call(0, 'serial', 'RUNNING'), call(1, 'serial', 'PENDING')] },
    { type: 'settle lost calls', calls: ['0'] },
  ],
  [
    'one call waits and one is ready',
    { calls: [call(0, 'serial', 'READY'), call(1, 'serial', 'PENDING')] },
    { type: 'pause' },
  ],
  [
    'calls that are ready, one after another',
    { calls: [call(0, 'serial', 'READY'), call(1, 'serial', 'READY')] },
    { type: 'run tools', calls: ['0'] },
  ],
  [
    'calls that run together go first',
    { calls: [call(0, 'serial', 'READY'), call(1, 'together', 'READY'), call(2, 'together', 'READY')] },
    { type: 'run tools', calls: ['1', '2'] },
  ],
  [
    'a serial call is not started beside another',
    { calls: [call(0, 'serial', 'READY'), call(1, 'together', 'RUNNING')], inFlight: ['1'] },
    { type: 'wait for tools' },
  ],
  [
    'every call has its result',
    { calls: [call(0, 'serial', 'SUCCEEDED'), call(1, 'serial', 'DENIED')] },
    { type: 'return results' },
  ],
  [
    'results are told before follow-ups are stored',
    { run: { followUps }, calls: [call(0, 'serial', 'SUCCEEDED')] },
    { type: 'return results' },
  ],
  [
    'follow-ups that are not in the conversation yet',
    { run: { followUps }, steps: [finished], calls: [call(0, 'serial', 'SUCCEEDED')] },
    { type: 'store follow-ups' },
  ],
  ['the results were told', { steps: [finished], calls: [call(0, 'serial', 'SUCCEEDED')] }, { type: 'call model' }],
  [
    'a terminal tool was called',
    { steps: [finished], calls: [call(0, 'serial', 'SUCCEEDED')], rules: terminal },
    { type: 'end', stopReason: 'TOOL_RULE' },
  ],
  [
    'a terminal tool was denied',
    { steps: [finished], calls: [call(0, 'serial', 'DENIED')], rules: terminal },
    { type: 'call model' },
  ],
  [
    'the step limit is used up',
    { run: { maxSteps: 1 }, steps: [finished], calls: [call(0, 'serial', 'SUCCEEDED')] },
    { type: 'end', stopReason: 'MAX_STEPS' },
  ],
  [
    'the step limit is used up by an answer without calls',
    { run: { maxSteps: 1 }, steps: [finished] },
    { type: 'end', stopReason: 'END_TURN' },
  ],
  [
    'the budget is used up',
    {
      run: { maxTotalTokens: 10, usage: { ...noUsage, inputTokens: 7, outputTokens: 3 } },
      steps: [finished],
      calls: [call(0, 'serial', 'SUCCEEDED')],
    },
    { type: 'end', stopReason: 'BUDGET_EXCEEDED' },
  ],
  ['an answer that does not satisfy the schema', { steps: [faulty] }, { type: 'correct answer' }],
  ['the model was told so', { steps: [{ ...faulty, stopReason: null }] }, { type: 'call model' }],
  [
    'three answers that do not satisfy the schema',
    { steps: [{ ...faulty, stopReason: null }, { ...faulty, stopReason: null }, faulty] },
    { type: 'end', stopReason: 'RESPONSE_SCHEMA_NOT_SATISFIED', error: faulty.error },
  ],
  [
    'such an answer at the step limit',
    { run: { maxSteps: 1 }, steps: [faulty] },
    { type: 'end', stopReason: 'MAX_STEPS' },
  ],
  [
    'a step that failed is made again',
    { steps: [{ ...asked, status: 'FAILED', finishedAt: at, stopReason: 'LLM_API_ERROR' }] },
    { type: 'call model' },
  ],
  [
    'a step that failed while its tools ran is followed by another',
    { steps: [{ ...finished, status: 'FAILED' }], calls: [call(0, 'serial', 'CANCELLED')] },
    { type: 'call model' },
  ],
]

describe('[ENG10] the next action follows from what is stored', () => {
  test.each(table)('%s', (_title, given, expected) => {
    const action = nextAction(stateOf(given))
    const shown = 'calls' in action ? { ...action, calls: action.calls.map(({ id }) => id) } : action
    expect(shown).toEqual(expected)
  })
})
