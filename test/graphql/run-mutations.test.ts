import { afterAll, describe, expect, it } from 'vitest'

import { encodeId } from '../../src/domain/ids.ts'
import { createGround } from '../support/execute.ts'
import { createFixtures } from '../support/fixtures.ts'
import { createExecutor } from '../support/run-executor.ts'

const ground = await createGround()
const make = createFixtures(ground.db)
afterAll(() => ground.close())

let tenants = 0
async function createTenant() {
  const tenantId = await make.tenant(`run mutations ${(tenants += 1)}`)
  const agent = await make.agent({ tenant_id: tenantId })
  const conversation = await make.conversation({ tenant_id: tenantId, agent_id: agent.id, is_main: true })
  const to = { agentId: encodeId('Agent', agent.id) }
  return { tenantId, agent, conversation, to, api: createExecutor(ground, tenantId) }
}

type Conversation = Awaited<ReturnType<typeof createTenant>>['conversation']

const shownRun = (run: { readonly id: string }) => encodeId('Run', run.id)
const shownCall = (call: { readonly id: string }) => encodeId('ToolCall', call.id)

const send = `mutation ($input: SendMessageInput!) { sendMessage(input: $input) { __typename
  ... on SendMessageSuccess { run { id status maxSteps metadata input { role text clientId } } }
  ... on Refusal { message } ... on ConversationBusyRefusal { run { id } }
  ... on PendingApprovalRefusal { run { id } toolCalls { id } } } }`
const submit = `mutation ($input: SubmitApprovalsInput!) { submitApprovals(input: $input) { __typename
  ... on SubmitApprovalsSuccess { run { status pendingToolCalls { id } } } ... on Refusal { message }
  ... on NoPendingApprovalRefusal { run { id } } ... on InvalidToolCallIdsRefusal { invalidIds expectedIds }
  ... on AlreadyDecidedRefusal { decisions { toolCallId kind } } } }`
const cancel = `mutation ($input: CancelRunInput!) { cancelRun(input: $input) { __typename
  ... on CancelRunSuccess { run { id status } } ... on Refusal { message } ... on RunFinishedRefusal { run { id } } } }`
const retry = `mutation ($input: RetryRunInput!) { retryRun(input: $input) { __typename
  ... on RetryRunSuccess { run { status } } ... on Refusal { message } ... on RunNotRetryableRefusal { run { id } } } }`

async function setActive(conversation: Conversation, run: { readonly id: string }): Promise<void> {
  await ground.db
    .updateTable('conversations')
    .set({ active_run_id: run.id })
    .where('id', '=', conversation.id)
    .execute()
}

/** A run that waits for two approvals. */
async function createPausedRun(conversation: Conversation) {
  const run = await make.run(conversation, { status: 'AWAITING_APPROVAL', stop_reason: 'REQUIRES_APPROVAL', steps: 1 })
  await setActive(conversation, run)
  await make.log(run, 1, [{ type: 'stepStarted', index: 0 }])
  await make.step(run, { index: 0, status: 'PAUSED' })
  await make.message(run, 'USER', { content: [{ text: 'pay' }] })
  await make.message(run, 'APPROVAL_REQUEST', {}, { step_index: 0 })
  const calls = []
  for (const ordinal of [0, 1]) {
    calls.push(await make.call(run, { step_index: 0, ordinal, status: 'PENDING', needs: 'APPROVAL' }))
  }
  return { run, calls }
}

describe('what is refused before it reaches a command', () => {
  it('[RIN1] a bad value of sendMessage is named by its field', async () => {
    const { api, to } = await createTenant()
    const text = { text: 'hi' }
    const tool = (tool: object) => ({ messages: [text], clientTools: [{ name: 'pay', ...tool }] })
    const cases: [field: string, input: object][] = [
      ['input.messages', { messages: [] }],
      ['input.messages', { messages: Array.from({ length: 101 }, () => text) }],
      ['input.messages.0.text', { messages: [{}] }],
      ['input.messages.0.text', { messages: [{ text: ' \n' }] }],
      ['input.messages.0.text', { messages: [{ text: '\u0000' }] }],
      ['input.messages.1.text', { messages: [text, { text: 'x'.repeat(200_001) }] }],
      ['input.messages.0.content', { messages: [{ text: 'a', content: [text] }] }],
      ['input.messages.0.content', { messages: [{ content: [] }] }],
      ['input.messages.0.content', { messages: [{ content: Array.from({ length: 51 }, () => text) }] }],
      ['input.messages.0.content.1.text', { messages: [{ content: [text, { text: '' }] }] }],
      ['input.messages.0.content.0.imageUrl', { messages: [{ content: [{ imageUrl: 'file:///etc/passwd' }] }] }],
      [
        'input.messages.0.content.0.imageUrl',
        { messages: [{ content: [{ imageUrl: 'data:text/html;base64,AAAA' }] }] },
      ],
      [
        'input.messages.0.content.0.imageUrl',
        { messages: [{ role: 'SYSTEM', content: [{ imageUrl: 'https://example.com/a.png' }] }] },
      ],
      ['input.messages.0.clientId', { messages: [{ ...text, clientId: '' }] }],
      ['input.messages.0.clientId', { messages: [{ ...text, clientId: 'half \ud83d' }] }],
      ['input.clientTools.0.name', tool({ name: 'no spaces' })],
      ['input.clientTools.0.parameters', tool({ parameters: 'x' })],
      ['input.clientTools.0.parameters', tool({ parameters: { type: 'object', properties: { a: { type: 'nope' } } } })],
      ['input.clientTools.1', { messages: [text], clientTools: [{ name: 'pay' }, { name: 'pay' }] }],
      ['input.maxSteps', { messages: [text], maxSteps: 0 }],
      ['input.maxSteps', { messages: [text], maxSteps: 1001 }],
      ['input.maxTotalTokens', { messages: [text], maxTotalTokens: 0 }],
      ['input.waitMs', { messages: [text], waitMs: -1 }],
      ['input.idempotencyKey', { messages: [text], idempotencyKey: '' }],
      ['input.idempotencyKey', { messages: [text], idempotencyKey: 'k'.repeat(201) }],
      ['input.metadata', { messages: [text], metadata: [] }],
      ['input.metadata', { messages: [text], metadata: { long: 'x'.repeat(65_536) } }],
    ]
    for (const [field, input] of cases) {
      expect(await api.error(send, { input: { to, ...input } })).toMatchObject({ code: 'BAD_USER_INPUT', field })
    }
    expect(await api.data('{ runs { totalCount } }')).toEqual({ runs: { totalCount: 0 } })
  })

  it('[RIN2] an unknown or another tenant’s id is NOT_FOUND', async () => {
    const { api } = await createTenant()
    const other = await createTenant()
    const messages = [{ text: 'hi' }]
    const theirs = await make.run(other.conversation, { status: 'FAILED' })
    const conversationId = encodeId('Conversation', other.conversation.id)
    const decisions = [{ deny: { toolCallId: 'x' } }]
    const cases: [document: string, input: object][] = [
      [send, { to: other.to, messages }],
      [send, { to: { conversationId }, messages }],
      [send, { to: { agentId: conversationId }, messages }],
      [send, { to: { conversationId: '' }, messages }],
      [submit, { runId: shownRun(theirs), decisions }],
      [submit, { runId: 'run_x', decisions }],
      [cancel, { runId: shownRun(theirs) }],
      [cancel, { conversationId }],
      [cancel, other.to],
      [retry, { runId: shownRun(theirs) }],
    ]
    for (const [document, input] of cases) expect((await api.error(document, { input })).code).toBe('NOT_FOUND')
    for (const [document, input] of [
      [send, { to: { agentId: '' }, messages }],
      [cancel, { agentId: '' }],
    ] as const)
      expect((await api.error(document, { input })).message).toContain('no agent')
  })

  it('[RIN3] empty decisions are refused with their field', async () => {
    const { api, conversation } = await createTenant()
    const { run } = await createPausedRun(conversation)
    const runId = shownRun(run)
    const deny = { deny: { toolCallId: 'x' } }
    expect(await api.error(submit, { input: { runId, decisions: [] } })).toMatchObject({ field: 'input.decisions' })
    expect(await api.error(submit, { input: { runId, decisions: [deny], followUp: [{ text: '' }] } })).toMatchObject({
      code: 'BAD_USER_INPUT',
      field: 'input.followUp.0.text',
    })
    expect(await api.error(submit, { input: { runId, decisions: [deny], waitMs: -1 } })).toMatchObject({
      code: 'BAD_USER_INPUT',
      field: 'input.waitMs',
    })
  })
})

describe('what the commands came to', () => {
  it('[RIN4] an accepted message is a run that shows what was given', async () => {
    const { api, to } = await createTenant()
    const input = {
      to,
      messages: [
        { role: 'SYSTEM', text: 'be brief' },
        { text: 'hi\u0000', clientId: 'c-1' },
      ],
      maxSteps: 3,
      metadata: { a: 1 },
    }
    const { sendMessage } = await api.data(send, { input })
    expect(sendMessage).toMatchObject({
      __typename: 'SendMessageSuccess',
      run: {
        status: 'QUEUED',
        maxSteps: 3,
        metadata: { a: 1 },
        input: [
          { role: 'SYSTEM', text: 'be brief', clientId: null },
          { role: 'USER', text: 'hi', clientId: 'c-1' },
        ],
      },
    })
    expect(await api.data(send, { input })).toMatchObject({
      sendMessage: { __typename: 'ConversationBusyRefusal', run: { id: sendMessage.run.id } },
    })
  })

  it('[RIN5] with waitMs the answer shows the run as it paused or ended', async () => {
    const { api, to, conversation } = await createTenant()
    const answer = api.data(send, { input: { to, messages: [{ text: 'hi' }], waitMs: 600_000 } })
    while (ground.context.hub.runsWithReaders().length === 0) await new Promise((resolve) => setImmediate(resolve))
    const change = { status: 'CANCELLED' as const, finished_at: new Date() }
    const [run] = await ground.db
      .updateTable('runs')
      .set(change)
      .where('conversation_id', '=', conversation.id)
      .returning('id')
      .execute()
    ground.context.hub.runChanged(run!.id)
    expect((await answer).sendMessage.run).toMatchObject({ id: shownRun(run!), status: 'CANCELLED' })
  })

  it('[RIN6] while a run waits for approval, sending is refused with the waiting calls', async () => {
    const { api, to, conversation } = await createTenant()
    const { run, calls } = await createPausedRun(conversation)
    const { sendMessage } = await api.data(send, { input: { to, messages: [{ text: 'hi' }] } })
    expect(sendMessage).toMatchObject({
      __typename: 'PendingApprovalRefusal',
      message: expect.stringContaining('Please approve or deny the pending request before continuing'),
      run: { id: shownRun(run) },
      toolCalls: calls.map((call) => ({ id: shownCall(call) })),
    })
  })

  it('[RIN7] ids that are not pending, or are not ids at all, are shown as given', async () => {
    const { api, conversation } = await createTenant()
    const { run, calls } = await createPausedRun(conversation)
    const decisions = ['nonsense', shownRun(run)].map((toolCallId) => ({ deny: { toolCallId } }))
    const { submitApprovals } = await api.data(submit, { input: { runId: shownRun(run), decisions } })
    expect(submitApprovals).toMatchObject({
      __typename: 'InvalidToolCallIdsRefusal',
      message: expect.stringMatching(/^Invalid tool call IDs: nonsense, run_/),
      invalidIds: ['nonsense', shownRun(run)],
      expectedIds: calls.map(shownCall),
    })

    const ended = await make.run(conversation, { status: 'COMPLETED' })
    expect(await api.data(submit, { input: { runId: shownRun(ended), decisions } })).toMatchObject({
      submitApprovals: {
        __typename: 'NoPendingApprovalRefusal',
        message: expect.stringContaining('No tool call is currently awaiting approval'),
        run: { id: shownRun(ended) },
      },
    })
  })

  it('[RIN8] a decision is stored, the other calls still wait, and a different decision about the same call is refused', async () => {
    const { api, conversation } = await createTenant()
    const { run, calls } = await createPausedRun(conversation)
    const runId = shownRun(run)
    const toolCallId = shownCall(calls[0]!)
    const deny = { runId, decisions: [{ deny: { toolCallId, reason: 'no' } }] }
    expect(await api.data(submit, { input: deny })).toEqual({
      submitApprovals: {
        __typename: 'SubmitApprovalsSuccess',
        run: { status: 'AWAITING_APPROVAL', pendingToolCalls: [{ id: shownCall(calls[1]!) }] },
      },
    })
    const approve = { runId, decisions: [{ approve: { toolCallId } }] }
    expect(await api.data(submit, { input: approve })).toMatchObject({
      submitApprovals: { __typename: 'AlreadyDecidedRefusal', decisions: [{ toolCallId, kind: 'DENIED' }] },
    })
  })

  it('[RIN9] cancelRun and retryRun return the run, or a refusal', async () => {
    const { api, to, conversation } = await createTenant()
    expect(await api.data(cancel, { input: to })).toMatchObject({ cancelRun: { __typename: 'NothingToCancelRefusal' } })

    const { sendMessage } = await api.data(send, { input: { to, messages: [{ text: 'hi' }] } })
    const { id } = sendMessage.run
    expect(await api.data(cancel, { input: to })).toEqual({
      cancelRun: { __typename: 'CancelRunSuccess', run: { id, status: 'CANCELLED' } },
    })
    expect(await api.data(retry, { input: { runId: id } })).toMatchObject({
      retryRun: { __typename: 'RunNotRetryableRefusal', run: { id } },
    })
    const done = await make.run(conversation, { status: 'COMPLETED' })
    expect(await api.data(cancel, { input: { runId: shownRun(done) } })).toMatchObject({
      cancelRun: { __typename: 'RunFinishedRefusal', run: { id: shownRun(done) } },
    })
  })
})
