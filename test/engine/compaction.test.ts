import { afterAll, expect, test } from 'vitest'

import { countTokens } from '../../src/util/tokens.ts'
import { weighRequest } from '../../src/domain/context/request-weight.ts'
import type { ModelRequest } from '../../src/domain/models/model-request.ts'
import { defineTool } from '../../src/tools/registry.ts'
import { startTestApp } from '../support/app.ts'
import { talkTo } from '../support/talk.ts'
import { createTestDatabase } from '../support/database.ts'
import { createTalkingModel, type Reply } from '../support/talking-model.ts'

const words = (count: number) => 'word '.repeat(count).trim()
const isSummary = (request: ModelRequest) => request.systemPrompt.includes('keep the memory of a long conversation')

/** The answers that a test sets. Without one, models answer with one word. */
let answers: (request: ModelRequest) => Reply | Promise<Reply> | undefined = () => undefined
const models = createTalkingModel({
  main: { window: 2_000, answer: async (request) => (await answers(request)) ?? { text: 'Understood.' } },
  other: { window: 4_000, answer: async (request) => (await answers(request)) ?? { text: 'Also understood.' } },
})
const lookup = defineTool({
  name: 'lookup',
  description: 'Looks something up.',
  parameters: { type: 'object', properties: { words: { type: 'integer' } } },
  run: ({ words: count }) => words(Number(count)),
})

const app = await startTestApp({ providers: [models.provider], tools: [lookup] })
const talk = talkTo(app)
afterAll(() => app.stop())

async function createAgent(settings: Record<string, unknown> = {}): Promise<string> {
  answers = () => undefined
  models.requests.length = 0
  const { tools } = await app.data('{ tools(filter: { nameContains: "lookup" }) { nodes { id } } }')
  const { createAgent } = await app.data(
    'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }',
    {
      input: {
        name: 'a',
        model: 'talk/main',
        includeBaseTools: false,
        tools: [{ toolId: tools.nodes[0].id }],
        ...settings,
      },
    },
  )
  return createAgent.agent.id
}

async function say(agent: string, text: string) {
  return talk.settled(await talk.start(agent, text))
}

async function contextOf(agent: string) {
  const { agent: shown } = await app.data(
    `query ($agent: ID!) { agent(id: $agent) { mainConversation { id
      context { systemPrompt tokens { window total instructions blocks tools summary messages }
        messages { __typename position ... on SummaryMessage { text } ... on UserMessage { text } } request }
      messages(first: 200) { nodes { __typename position inContext } } } } }`,
    { agent },
  )
  return shown.mainConversation
}

async function compact(conversationId: string, input: Record<string, unknown> = {}) {
  const { compactConversation } = await app.data(
    `mutation ($input: CompactConversationInput!) { compactConversation(input: $input) { __typename
      ... on CompactConversationSuccess { run { id status stopReason error { type message } usage { steps totalTokens }
        messages { nodes { __typename } } } }
      ... on PendingApprovalRefusal { run { id } toolCalls { id } } ... on Refusal { message } } }`,
    { input: { conversationId, waitMs: 10_000, ...input } },
  )
  return compactConversation
}

test('[CMP4] a context above nine tenths of the window is compacted before the model is asked', async () => {
  const agent = await createAgent()
  for (let turn = 0; turn < 4; turn += 1) await say(agent, `turn ${turn}: ${words(400)}`)
  answers = (request) =>
    isSummary(request) ? { text: 'The user counts turns.', usage: { inputTokens: 700 } } : undefined
  const run = await say(agent, `turn 4: ${words(400)}`)

  expect(run).toMatchObject({ status: 'COMPLETED', answer: 'Understood.' })
  const [summary, answer] = models.requests.slice(-2)
  expect(isSummary(summary!)).toBe(true)
  expect(summary!.messages[0]).toMatchObject({ role: 'user' })
  expect(JSON.stringify(summary!.messages)).toContain('user:\\n> turn 0: word')
  expect(JSON.stringify(answer!.messages[0])).toContain('The user counts turns.')
  expect(weighRequest(answer!).total).toBeLessThan(1_400)
  // The request for a summary is counted like any other.
  expect(run.usage).toMatchObject({ steps: 2 })
  expect(run.usage.totalTokens).toBeGreaterThan(700)
  expect(await talk.log(run.id)).toEqual([
    'RunStatusChanged QUEUED',
    'RunStatusChanged RUNNING',
    'MessageAdded UserMessage',
    'StepStarted',
    'MessageAdded SummaryMessage',
    'StepRestarted',
    'MessageAdded AssistantMessage',
    'StepFinished',
    'RunStatusChanged COMPLETED',
  ])

  // All messages are still there, and the context begins with the summary.
  const conversation = await contextOf(agent)
  expect(conversation.messages.nodes.filter((node: any) => node.__typename === 'UserMessage')).toHaveLength(5)
  expect(conversation.messages.nodes[0]).toMatchObject({ inContext: false })
  expect(conversation.context.messages[0]).toMatchObject({
    __typename: 'SummaryMessage',
    text: 'The user counts turns.',
  })
  expect(conversation.context.tokens.summary).toBeGreaterThan(0)
  expect(conversation.context.messages.length).toBe(
    conversation.messages.nodes.filter((node: any) => node.inContext).length,
  )
})

test('[CMP80] the tokens of a summary count towards maxTotalTokens: the next step does not start', async () => {
  const agent = await createAgent()
  for (let turn = 0; turn < 4; turn += 1) await say(agent, `turn ${turn}: ${words(400)}`)
  answers = (request) =>
    isSummary(request)
      ? { text: 'The user counts turns.', usage: { inputTokens: 5_000 } }
      : { calls: [{ name: 'lookup', args: { words: 1 } }], usage: { inputTokens: 10, outputTokens: 10 } }
  const run = await talk.settled(await talk.start(agent, `turn 4: ${words(400)}`, { maxTotalTokens: 5_000 }))
  expect(run).toMatchObject({ status: 'COMPLETED', stopReason: 'BUDGET_EXCEEDED', usage: { steps: 2 } })
  expect(run.steps).toHaveLength(1)
  expect(run.steps[0].toolCalls[0].result).toMatchObject({ status: 'SUCCESS' })
  answers = () => undefined
  expect(await say(agent, 'go on')).toMatchObject({ status: 'COMPLETED', answer: 'Understood.' })
})

test('[CMP5] a call is never separated from its return, and returns that a step waits for stay', async () => {
  const agent = await createAgent()
  answers = (request) => {
    if (isSummary(request)) return { text: 'It looked things up.' }
    const calls = request.messages.filter(({ role }) => role === 'tool').length
    const summarised = JSON.stringify(request.messages).includes('It looked things up.')
    return calls < 6 && !summarised ? { calls: [{ name: 'lookup', args: { words: 300 } }] } : { text: 'done' }
  }
  const run = await say(agent, 'look six things up')
  expect(run).toMatchObject({ status: 'COMPLETED', answer: 'done' })
  const last = models.requests.at(-1)!
  // The test model itself checks the form of its requests.
  expect(last.messages[0]).toMatchObject({ role: 'system' })
  expect(last.messages.at(-1)).toMatchObject({ role: 'tool' })
})

test('[CMP6] if a provider says "too long", the context is compacted and the model asked again, at most three times', async () => {
  const agent = await createAgent()
  for (let turn = 0; turn < 3; turn += 1) await say(agent, `turn ${turn}: ${words(100)}`)
  let refused = 0
  answers = (request) => {
    if (isSummary(request)) return { text: 'Turns were counted.' }
    return refused++ < 2 ? { text: 'half', failure: { type: 'LLM_CONTEXT_WINDOW', retryable: false } } : undefined
  }
  const run = await say(agent, 'and now?')
  expect(run).toMatchObject({ status: 'COMPLETED', answer: 'Understood.', usage: { steps: 5 } })
  const log = await talk.log(run.id)
  expect(log.filter((line) => line === 'StepRestarted')).toHaveLength(2)

  // Enough turns for many more compactions.
  for (let turn = 0; turn < 20; turn += 1) await say(agent, `turn ${turn}`)
  answers = (request) => (isSummary(request) ? { text: 'x' } : { failure: { type: 'LLM_CONTEXT_WINDOW' } })
  models.requests.length = 0
  const failed = await say(agent, 'and now?')
  expect(failed).toMatchObject({ status: 'FAILED', stopReason: 'LLM_API_ERROR', error: { type: 'LLM_CONTEXT_WINDOW' } })
  expect(models.requests.map(isSummary)).toEqual([false, true, false, true, false, true, false])
  expect(failed.messages.nodes.find((node: any) => node.__typename === 'UserMessage')).toMatchObject({
    inContext: false,
  })

  answers = () => undefined
  expect(await say(agent, 'still there?')).toMatchObject({ status: 'COMPLETED' })
})

test('[CMP7] a failed summary is retried once, over everything and by the agent’s own model; then the run fails', async () => {
  const agent = await createAgent({ compaction: { model: 'talk/other' } })
  for (let turn = 0; turn < 4; turn += 1) await say(agent, `turn ${turn}: ${words(400)}`)
  answers = (request) => {
    if (!isSummary(request)) return undefined
    return request.model === 'talk/other' ? { failure: { type: 'LLM_AUTHENTICATION' } } : { text: 'By myself.' }
  }
  expect(await say(agent, `turn 4: ${words(400)}`)).toMatchObject({ status: 'COMPLETED' })
  expect((await contextOf(agent)).context.messages[0]).toMatchObject({ text: 'By myself.' })

  for (let turn = 5; turn < 8; turn += 1) await say(agent, `turn ${turn}: ${words(400)}`)
  answers = (request) => (isSummary(request) ? { failure: { type: 'LLM_RATE_LIMIT' } } : undefined)
  const failed = await say(agent, `turn 8: ${words(700)}`)
  expect(failed).toMatchObject({ status: 'FAILED', error: { type: 'LLM_RATE_LIMIT', retryable: true } })
  expect(failed.error!.message).toContain('summarising it failed')

  // The conversation still works: without that message the context fits again.
  answers = () => undefined
  expect(await say(agent, 'a short one')).toMatchObject({ status: 'COMPLETED' })
})

test('[CMP8] a message that cannot fit, and a system prompt that cannot, end the run with an error that says how large each part is', async () => {
  const agent = await createAgent()
  await say(agent, 'hello')
  const tooLong = await say(agent, words(2_500))
  expect(tooLong).toMatchObject({
    status: 'FAILED',
    stopReason: 'CONTEXT_WINDOW_OVERFLOW_IN_INPUT',
    error: { type: 'LLM_CONTEXT_WINDOW', retryable: false },
  })
  // Also if only the provider finds it too long.
  answers = (request) => (isSummary(request) ? undefined : { failure: { type: 'LLM_CONTEXT_WINDOW' } })
  expect(await say(agent, words(1_200))).toMatchObject({
    status: 'FAILED',
    stopReason: 'CONTEXT_WINDOW_OVERFLOW_IN_INPUT',
    error: { type: 'LLM_CONTEXT_WINDOW' },
  })
  // And if the model's window is much smaller than its provider's list says.
  const guessed = await createAgent({ modelSettings: { contextWindow: 100_000 } })
  answers = (request) => (isSummary(request) ? undefined : { failure: { type: 'LLM_CONTEXT_WINDOW' } })
  expect(await say(guessed, words(2_500))).toMatchObject({ stopReason: 'CONTEXT_WINDOW_OVERFLOW_IN_INPUT' })
  expect(await say(guessed, 'hello')).toMatchObject({ stopReason: 'LLM_API_ERROR' })
  answers = () => undefined
  expect(await say(agent, 'shorter')).toMatchObject({ status: 'COMPLETED' })

  const large = await createAgent({
    instructions: words(1_500),
    blocks: [{ label: 'facts', value: words(700) }],
  })
  const overflow = await say(large, 'hello')
  expect(overflow).toMatchObject({ status: 'FAILED', stopReason: 'CONTEXT_WINDOW_OVERFLOW_IN_SYSTEM_PROMPT' })
  const { run } = await app.data('query ($id: ID!) { run(id: $id) { error { type detail } } }', { id: overflow.id })
  expect(run.error.type).toBe('LLM_CONTEXT_WINDOW')
  expect(run.error.detail).toMatch(/of 2000: instructions 15\d\d, block facts 7\d\d, tool lookup \d+, messages/)
  expect(models.requests).toHaveLength(0)
})

test('[CMP9] a summary that is too long is cut', async () => {
  const agent = await createAgent()
  answers = (request) => (isSummary(request) ? { text: `Begin ${words(1_500)}` } : undefined)
  for (let turn = 0; turn < 12; turn += 1) {
    expect(await say(agent, `turn ${turn}: ${words(400)}`)).toMatchObject({ status: 'COMPLETED' })
  }
  const { context } = await contextOf(agent)
  expect(context.messages[0].text).toMatch(/^Begin word/)
  expect(countTokens(context.messages[0].text)).toBeLessThanOrEqual(210)
})

test('[CMP10] compactConversation is a run without input, with settings for one time', async () => {
  const agent = await createAgent({ compaction: { prompt: 'keep the memory of a long conversation' } })
  for (let turn = 0; turn < 5; turn += 1) await say(agent, `turn ${turn}`)
  const { id } = await contextOf(agent)

  answers = (request) => (isSummary(request) ? { text: `by ${request.model}` } : undefined)
  const half = await compact(id, { compaction: { keepRatio: 0.5 } })
  expect(half.run).toMatchObject({ status: 'COMPLETED', stopReason: 'END_TURN', usage: { steps: 1 } })
  expect(half.run.usage.totalTokens).toBeGreaterThan(0)
  expect(half.run.messages.nodes).toEqual([{ __typename: 'SummaryMessage' }])
  let conversation = await contextOf(agent)
  expect(conversation.context.messages.map((message: any) => message.text ?? '')).toEqual([
    'by talk/main',
    '',
    'turn 3',
    '',
    'turn 4',
    '',
  ])

  const all = await compact(id, {
    compaction: { mode: 'ALL', model: 'talk/other', prompt: 'keep the memory of a long conversation, and rhyme' },
  })
  expect(all.run).toMatchObject({ status: 'COMPLETED' })
  expect(models.requests.at(-1)!.systemPrompt).toBe('keep the memory of a long conversation, and rhyme')
  conversation = await contextOf(agent)
  expect(conversation.context.messages).toMatchObject([{ text: 'by talk/other' }])
  expect(JSON.stringify(models.requests.at(-1)!.messages)).toContain('summary of what came before:\\n> by talk/main')

  // There is nothing left to summarise.
  const asked = models.requests.length
  expect((await compact(id)).run).toMatchObject({ status: 'COMPLETED', messages: { nodes: [] } })
  expect(models.requests).toHaveLength(asked)
  expect(await say(agent, 'go on')).toMatchObject({ status: 'COMPLETED' })
  expect(models.requests.at(-1)!.messages).toHaveLength(2)
})

test('[CMP14] a worker that has the context in memory sees what another process compacted', async () => {
  const agent = await createAgent({ compaction: { prompt: 'keep the memory of a long conversation' } })
  for (let turn = 0; turn < 3; turn += 1) await say(agent, `turn ${turn}`)
  const { id } = await contextOf(agent)
  answers = (request) => (isSummary(request) ? { text: 'in short' } : undefined)
  // A process drives the runs that it accepts.
  const other = await startTestApp({ providers: [models.provider], tools: [lookup], database: app.database })
  await other.data(
    `mutation ($id: ID!) { compactConversation(input: { conversationId: $id, waitMs: 10000, compaction: { mode: ALL } }) {
      ... on CompactConversationSuccess { run { status } } } }`,
    { id },
  )
  await other.stop()
  await say(agent, 'go on')
  const sent = JSON.stringify(models.requests.at(-1)!.messages)
  expect(sent).toContain('in short')
  expect(sent).not.toContain('turn 0')
})

test('[CMP11] compactConversation waits in the queue, and is refused while a call waits', async () => {
  const { tools } = await app.data('{ tools(filter: { nameContains: "lookup" }) { nodes { id } } }')
  const agent = await createAgent({ tools: [{ toolId: tools.nodes[0].id, approvalOverride: true }] })
  await say(agent, 'hello')
  const { id } = await contextOf(agent)
  answers = (request) => {
    if (isSummary(request)) return { text: 'It was said.' }
    return request.messages.at(-1)?.role === 'tool' ? undefined : { calls: [{ name: 'lookup', args: { words: 1 } }] }
  }
  const waiting = await say(agent, 'look up')
  expect(waiting.status).toBe('AWAITING_APPROVAL')
  expect(await compact(id)).toMatchObject({ __typename: 'PendingApprovalRefusal', run: { id: waiting.id } })
  const queued = await compact(id, { whenBusy: 'ENQUEUE', waitMs: 0, compaction: { mode: 'ALL' } })
  expect(queued.run.status).toBe('QUEUED')
  await app.data(
    `mutation ($run: ID!, $call: ID!) { submitApprovals(input: { runId: $run, decisions: [{ approve: { toolCallId: $call } }] }) { __typename } }`,
    { run: waiting.id, call: waiting.steps[0]!.toolCalls[0]!.id },
  )
  expect(await talk.settled(queued.run.id)).toMatchObject({ status: 'COMPLETED' })
  expect((await contextOf(agent)).context.messages[0]).toMatchObject({ text: 'It was said.' })
  const transcript = JSON.stringify(models.requests.findLast(isSummary)!.messages)
  for (const entry of [
    'asks to call lookup:\\n> {',
    'decision about lookup:\\n> approved',
    'lookup returned:\\n> word',
  ])
    expect(transcript).toContain(entry)
})

test('[CMP12] a cancel while the summary is written leaves the context unchanged', async () => {
  const agent = await createAgent()
  for (let turn = 0; turn < 3; turn += 1) await say(agent, `turn ${turn}`)
  const before = (await contextOf(agent)).context.messages
  const asked: PromiseWithResolvers<void> = Promise.withResolvers<void>()
  answers = (request) => (isSummary(request) ? (asked.resolve(), new Promise(() => {})) : undefined)
  const { id } = await contextOf(agent)
  const started = await compact(id, { waitMs: 0 })
  await asked.promise
  const { cancelRun } = await app.data(
    'mutation ($run: ID!) { cancelRun(input: { runId: $run }) { ... on CancelRunSuccess { run { status } } } }',
    { run: started.run.id },
  )
  expect(cancelRun.run.status).toBe('CANCELLED')
  expect((await contextOf(agent)).context.messages).toEqual(before)
  answers = () => undefined
  expect(await say(agent, 'go on')).toMatchObject({ status: 'COMPLETED' })
})

test('[CMP13] a server that stops during a compaction leaves the old context, and the next one continues', async () => {
  const database = await createTestDatabase()
  let hang: PromiseWithResolvers<void> | undefined = Promise.withResolvers<void>()
  const stuck = createTalkingModel({
    main: {
      window: 2_000,
      answer: async (request) => {
        if (!isSummary(request)) return { text: 'Understood.' }
        if (!hang) return { text: 'The user counts.' }
        hang.resolve()
        return new Promise(() => {})
      },
    },
  })
  const options = { providers: [stuck.provider], database, env: { HOLDPOINT_DRAIN_MS: '50' } }
  const first = await startTestApp(options)
  const talkFirst = talkTo(first)
  const agent = await talkFirst.createAgent({ model: 'talk/main' })
  for (let turn = 0; turn < 4; turn += 1) await talkFirst.settled(await talkFirst.start(agent, words(400)))
  const run = await talkFirst.start(agent, words(400))
  await hang.promise
  await first.stop()
  const position = () => database.db.selectFrom('conversations').select(['summary_position', 'context_from']).execute()
  expect(await position()).toEqual([{ summary_position: null, context_from: 1 }])

  hang = undefined
  const second = await startTestApp(options)
  expect(await talkTo(second).settled(run)).toMatchObject({ status: 'COMPLETED', attempts: 2 })
  expect((await position())[0]!.summary_position).not.toBe(null)
  await second.stop()
  await database.close()
})
