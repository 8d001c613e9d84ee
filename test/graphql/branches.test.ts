import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'

import type { ModelRequest } from '../../src/domain/models/model-request.ts'
import { startTestApp } from '../support/app.ts'
import { createTalkingModel } from '../support/talking-model.ts'
import { talkTo } from '../support/talk.ts'
import { ConversationReader } from '../live/conversation-reader.ts'
import { longer } from '../support/long.ts'

const handle = 'talk/branches'
/** Texts that the model does not answer until it is told to, or cancelled. */
const held = new Map<string, PromiseWithResolvers<void>>()
const failing = new Set<string>()
let answers = 0
const model = createTalkingModel({
  branches: {
    window: 100_000,
    async answer(request) {
      const text = lastText(request)
      if (failing.delete(text)) return { failure: {} }
      await held.get(text)?.promise
      if (text.startsWith('ask')) return request.messages.at(-1)!.role === 'tool' ? { text: 'asked' } : askTool
      if (request.systemPrompt.includes('summar')) return { text: 'summary of it' }
      return { text: `answer ${(answers += 1)}` }
    },
  },
})
const askTool = { calls: [{ name: 'ask', args: {} }] }

function lastText({ messages }: ModelRequest): string {
  const last = messages.findLast(({ role }) => role === 'user')
  return last?.role === 'user' && 'text' in last.content[0]! ? last.content[0].text : ''
}

const app = await startTestApp({ providers: [model.provider] })
const talk = talkTo(app)
afterAll(() => app.stop())

async function newConversation(options: Record<string, unknown> = {}): Promise<string> {
  const agent = await talk.createAgent({ model: handle, ...options })
  const { agent: shown } = await app.data('query ($id: ID!) { agent(id: $id) { mainConversation { id } } }', {
    id: agent,
  })
  return shown.mainConversation.id
}

const conversationFields = `messages(first: 200) { totalCount nodes { id __typename position inContext
    ... on UserMessage { text } ... on AssistantMessage { text } ... on SummaryMessage { text } run { id } } }
  latestRun { id } activeRun { id } lastCursor
  context { messages { id ... on UserMessage { text } ... on AssistantMessage { text } ... on SummaryMessage { text } } }
  runs(first: 200) { nodes { id status onCurrentBranch previousRun { id } versions { id } canRetry } }`

async function show(id: string): Promise<any> {
  const { conversation } = await app.data(`query ($id: ID!) { conversation(id: $id) { ${conversationFields} } }`, {
    id,
  })
  return conversation
}

const texts = (shown: any): string[] => shown.messages.nodes.map(({ text }: { text: string }) => text)

async function mutate(name: string, input: Record<string, unknown>): Promise<any> {
  const type = `${name[0]!.toUpperCase()}${name.slice(1)}`
  const success = name === 'selectBranch' || name === 'forkConversation' ? 'conversation { id }' : 'run { id status }'
  const data = await app.data(
    `mutation ($input: ${type}Input!) { ${name}(input: $input) { __typename
      ... on ${type}Success { ${success} } ... on Refusal { message } } }`,
    { input },
  )
  return data[name]
}

const waitMs = 30_000
const edit = (messageId: string, text: string, more: object = {}) =>
  mutate('editMessage', { messageId, message: { text }, waitMs, ...more })
const regenerate = (runId: string, more: object = {}) => mutate('regenerate', { runId, waitMs, ...more })
const select = (runId: string) => mutate('selectBranch', { runId })
const send = (id: string, text: string) => talk.send(id, text, { waitMs })

test('[BRA1] an edited message starts another version of its turn, and the model sees only that one', async () => {
  const id = await newConversation()
  await send(id, 'one')
  const two = await send(id, 'two')
  await send(id, 'three')
  const before = await show(id)
  const edited = before.messages.nodes.find((message: any) => message.text === 'two')

  const result = await edit(edited.id, 'two again')
  expect(result).toMatchObject({ __typename: 'EditMessageSuccess', run: { status: 'COMPLETED' } })
  const after = await show(id)
  expect(texts(after).filter((text) => !text.startsWith('answer'))).toEqual(['one', 'two again'])
  expect(after.messages.totalCount).toBe(4)
  expect(after.latestRun.id).toBe(result.run.id)
  expect(after.context.messages.map((message: any) => message.id)).toEqual(after.messages.nodes.map((m: any) => m.id))
  expect(model.requests.at(-1)!.messages).toHaveLength(3)

  const [newest, third, second] = after.runs.nodes
  expect([newest, third, second].map((run) => run.onCurrentBranch)).toEqual([true, false, false])
  expect(newest.versions.map((run: any) => run.id)).toEqual([two.run.id, result.run.id])
  expect(second.versions).toEqual(newest.versions)
  expect(third.versions).toHaveLength(1)
  expect(third.previousRun.id).toBe(second.id)
  expect(newest.previousRun).toEqual(second.previousRun)
  // Other branches stay readable.
  expect(await talk.messages(two.run.id)).toMatchObject([{ text: 'two', inContext: false }, { inContext: false }])
  const positions = after.messages.nodes.map((message: any) => message.position)
  expect(positions).toEqual(positions.toSorted((a: number, b: number) => a - b))

  // Selecting a branch brings back the later turns that were on it.
  expect(await select(second.id)).toMatchObject({ __typename: 'SelectBranchSuccess' })
  expect((await show(id)).messages).toEqual(before.messages)
  expect((await show(id)).latestRun).toEqual(before.latestRun)
})

test('[BRA2] regenerate repeats the input with the settings of the original run, and several input messages are edited one by one', async () => {
  const id = await newConversation()
  const { sendMessage } = await app.data(
    `mutation ($input: SendMessageInput!) { sendMessage(input: $input) { ... on SendMessageSuccess { run { id } } } }`,
    {
      input: {
        to: { conversationId: id },
        messages: [
          { role: 'SYSTEM', text: 'be kind' },
          { text: 'hello', clientId: 'c1' },
        ],
        clientTools: [{ name: 'mine' }],
        maxSteps: 7,
        metadata: { kept: true },
        waitMs,
      },
    },
  )
  const again = await regenerate(sendMessage.run.id)
  const fields = '{ maxSteps metadata input { role text clientId } versions { id } }'
  const { first, second } = await app.data(
    `query ($one: ID!, $other: ID!) { first: run(id: $one) ${fields} second: run(id: $other) ${fields} }`,
    { one: sendMessage.run.id, other: again.run.id },
  )
  expect(second).toEqual(first)
  expect(second.versions).toHaveLength(2)
  expect(model.requests.at(-1)!.tools.map((tool) => tool.name)).toEqual(['mine'])

  const shown = await show(id)
  const third = await edit(shown.messages.nodes[0].id, 'be brief', { message: { role: 'SYSTEM', text: 'be brief' } })
  const { run } = await app.data('query ($id: ID!) { run(id: $id) { input { role text } } }', { id: third.run.id })
  expect(run.input).toEqual([
    { role: 'SYSTEM', text: 'be brief' },
    { role: 'USER', text: 'hello' },
  ])
  expect(model.requests.at(-1)!.messages).toHaveLength(2)
})

test('[BRA3] while a run holds the conversation, branches do not change; input that cannot be edited is named', async () => {
  const id = await newConversation()
  const one = await send(id, 'one')
  const [question, answer] = (await show(id)).messages.nodes
  held.set('long', Promise.withResolvers<void>())
  const active = await talk.start(id, 'long')
  const before = await show(id)
  for (const refused of [await edit(question.id, 'x'), await regenerate(one.run.id), await select(one.run.id)]) {
    expect(refused.__typename).toBe('ConversationBusyRefusal')
  }
  const waiting = await talk.start(id, 'waits', { whenBusy: 'ENQUEUE' })
  held.get('long')!.resolve()
  await talk.settled(waiting)
  expect((await show(id)).runs.nodes.slice(2)).toEqual(before.runs.nodes.slice(1))

  for (const [name, input] of [
    ['editMessage', { messageId: answer.id, message: { text: 'x' } }],
    ['regenerate', { runId: one.run.id.replace(/.$/, 'x') }],
    ['regenerate', { runId: await cancelledBeforeItStarted() }],
    ['selectBranch', { runId: await cancelledBeforeItStarted() }],
  ] as const) {
    const type = `${name[0]!.toUpperCase()}${name.slice(1)}Input`
    const { errors } = await app.request(`mutation ($input: ${type}!) { ${name}(input: $input) { __typename } }`, {
      input,
    })
    expect(errors?.[0]?.extensions.code).toMatch(/BAD_USER_INPUT|NOT_FOUND/)
  }
  expect(active).not.toBe(waiting)

  const asking = await talk.start(id, 'ask me', { clientTools: [{ name: 'ask' }] })
  await talk.pending(asking)
  for (const refused of [await edit(question.id, 'x'), await regenerate(asking), await select(one.run.id)]) {
    expect(refused.__typename).toBe('PendingApprovalRefusal')
  }

  async function cancelledBeforeItStarted(): Promise<string> {
    held.set('holds it', Promise.withResolvers<void>())
    const holder = await talk.start(id, 'holds it')
    const queued = await talk.start(id, 'never', { whenBusy: 'ENQUEUE' })
    await talk.cancel({ runId: queued })
    held.get('holds it')!.resolve()
    await talk.settled(holder)
    return queued
  }
})

test('[BRA4] the same key and input give the same version, another input is a conflict, and no version is lost', async () => {
  const id = await newConversation()
  const one = await send(id, 'one')
  const [question] = (await show(id)).messages.nodes
  const key = { idempotencyKey: 'k' }
  const results = await Promise.all([edit(question.id, 'x', key), edit(question.id, 'x', key)])
  expect(results[1]).toEqual(results[0])
  const again = await Promise.all([regenerate(one.run.id, key), regenerate(one.run.id, key)])
  expect(again[1].run.id).toBe(again[0].run.id)
  expect((await show(id)).runs.nodes).toHaveLength(3)
  const { errors } = await app.request(
    'mutation ($input: EditMessageInput!) { editMessage(input: $input) { __typename } }',
    { input: { messageId: question.id, message: { text: 'y' }, ...key } },
  )
  expect(errors?.[0]?.extensions.code).toBe('IDEMPOTENCY_CONFLICT')
})

test('[BRA5] a summary belongs to the branches that contain it, and a failed run of another branch can be retried there', async () => {
  const id = await newConversation({ compaction: { mode: 'ALL' } })
  await send(id, 'one')
  failing.add('two')
  const two = await send(id, 'two')
  expect(two.run.status).toBe('FAILED')
  const [question] = (await show(id)).messages.nodes
  const edited = await edit(question.id, 'one again')
  const compacted = await app.data(
    `mutation ($input: CompactConversationInput!) { compactConversation(input: $input) { __typename
      ... on CompactConversationSuccess { run { id status } } } }`,
    { input: { conversationId: id, waitMs } },
  )
  const { run: compaction } = compacted.compactConversation
  expect(compaction.status).toBe('COMPLETED')
  const { errors } = await app.request(
    'mutation ($input: RegenerateInput!) { regenerate(input: $input) { __typename } }',
    { input: { runId: compaction.id } },
  )
  expect(errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT', field: 'input.runId' } }])
  await send(id, 'three')
  const summarised = await show(id)
  expect(summarised.context.messages[0].text).toBe('summary of it')

  await select(two.run.id)
  const shown = await show(id)
  expect(texts(shown).filter((text) => !text.startsWith('answer'))).toEqual(['one', 'two'])
  expect(shown.context.messages.map((message: any) => message.text)).toEqual(texts(shown).slice(0, 2))
  expect(shown.runs.nodes.find((run: any) => run.id === two.run.id).canRetry).toBe(true)
  await app.data('mutation ($id: ID!) { retryRun(input: { runId: $id }) { __typename } }', { id: two.run.id })
  await talk.settled(two.run.id)
  const retried = await show(id)
  expect(texts(retried).map((text) => text.replace(/ \d+$/, ''))).toEqual(['one', 'answer', 'two', 'answer'])
  expect(retried.context.messages).toHaveLength(4)
  expect(await talk.messages(two.run.id)).toHaveLength(2)

  await select(edited.run.id)
  const back = await show(id)
  expect(back.messages).toEqual(summarised.messages)
  expect(back.context).toEqual(summarised.context)
})

// ── any sequence, against a naive model ──

interface Turn {
  readonly previous: Turn | undefined
  readonly text: string
  runId: string
  /** The messages on the branch after this turn, and those that the model sees. */
  messages: string[]
  inContext: string[]
  status: string
}

const operation = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant('send' as const), ends: endings() }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('edit' as const), turn: fc.nat(50), ends: endings() }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('regenerate' as const), turn: fc.nat(50) }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('select' as const), turn: fc.nat(50) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('retry' as const) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('fork' as const), turn: fc.nat(50) }) },
)
function endings() {
  return fc.constantFrom<('answer' | 'fail' | 'cancel')[]>('answer', 'answer', 'answer', 'fail', 'cancel')
}

test(
  '[BRA6] any sequence of sends, edits, regenerations, selections, forks, cancels and retries shows the branch that a plain tree would, also to readers of its stream',
  { timeout: 60_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 4, maxLength: 14, size: 'max' }), async (operations) => {
        const id = await newConversation()
        const turns: Turn[] = []
        /** Every turn that was the last one of the current branch, in order. */
        const tips: (Turn | undefined)[] = [undefined]
        let count = 0
        const { lastCursor } = await show(id)
        /** One reads after every operation, one resumes each time, and one reads at the end. */
        const [eager, resuming, late] = [1, 2, 3].map(() => new ConversationReader(app, id, lastCursor))

        async function take(previous: Turn | undefined, text: string, ends: string, start: () => Promise<string>) {
          if (ends === 'fail') failing.add(text)
          if (ends === 'cancel') held.set(text, Promise.withResolvers<void>())
          const asked = model.requests.length
          const runId = await start()
          if (ends === 'cancel') {
            await expect.poll(() => model.requests.length).toBeGreaterThan(asked)
            await talk.cancel({ runId })
          }
          const { status, answer } = await talk.settled(runId)
          const seen = model.requests[asked]!.messages.map((message) =>
            message.role === 'user' ? (message.content[0] as { text: string }).text : (message as any).parts[0].text,
          )
          expect(seen).toEqual([...(previous?.inContext ?? []), text])
          const added = [text, ...(answer === null ? [] : [answer])]
          const turn: Turn = {
            previous,
            text,
            runId,
            status,
            messages: [...(previous?.messages ?? []), ...added],
            inContext: [...(previous?.inContext ?? []), ...(ends === 'fail' ? [] : added)],
          }
          turns.push(turn)
          tips.push(turn)
        }

        for (const next of operations) {
          const tip = tips.at(-1)
          const chosen = 'turn' in next ? turns[next.turn % Math.max(1, turns.length)] : undefined
          const text = `text ${id} ${(count += 1)}`
          if (next.type === 'send') await take(tip, text, next.ends, () => talk.start(id, text))
          else if (next.type === 'retry') {
            if (tip?.status !== 'FAILED') continue
            await app.data('mutation ($id: ID!) { retryRun(input: { runId: $id }) { __typename } }', { id: tip.runId })
            const { status, answer } = await talk.settled(tip.runId)
            tip.status = status
            tip.messages = [...(tip.previous?.messages ?? []), tip.text, answer]
            tip.inContext = [...(tip.previous?.inContext ?? []), tip.text, answer]
          } else if (!chosen) continue
          else if (next.type === 'fork') {
            const forked = await show((await fork(chosen)).conversation.id)
            expect(texts(forked)).toEqual(chosen.messages)
            expect(forked.context.messages.map((message: any) => message.text)).toEqual(chosen.inContext)
            expect(forked.messages.nodes.map((message: any) => message.position)).toEqual(
              chosen.messages.map((_, index) => index + 1),
            )
          } else if (next.type === 'select') {
            expect((await select(chosen.runId)).__typename).toBe('SelectBranchSuccess')
            tips.push(tips.findLast((turn) => isBefore(chosen, turn)))
          } else if (next.type === 'regenerate') {
            held.delete(chosen.text)
            await take(chosen.previous, chosen.text, 'answer', async () => (await regenerate(chosen.runId)).run.id)
          } else {
            const [message] = await talk.messages(chosen.runId)
            await take(
              chosen.previous,
              text,
              next.ends,
              async () => (await edit(message.id, text, { waitMs: 0 })).run.id,
            )
          }

          const shown = await show(id)
          const ids = shown.messages.nodes.map((message: any) => message.id)
          await eager!.readUntil(ids)
          await resuming!.readUntil(ids)
          await resuming!.drop()
          const current = tips.at(-1)
          expect(texts(shown)).toEqual(current?.messages ?? [])
          expect(shown.messages.totalCount).toBe(current?.messages.length ?? 0)
          expect(shown.context.messages.map((message: any) => message.text)).toEqual(current?.inContext ?? [])
          expect(shown.messages.nodes.filter((message: any) => message.inContext).map((m: any) => m.text)).toEqual(
            current?.inContext ?? [],
          )
          expect(shown.latestRun?.id).toBe(current?.runId)
          const byId = new Map(shown.runs.nodes.map((run: any) => [run.id, run]))
          for (const turn of turns) {
            expect(byId.get(turn.runId)).toMatchObject({
              onCurrentBranch: isBefore(turn, current),
              previousRun: turn.previous ? { id: turn.previous.runId } : null,
              versions: turns.filter(({ previous }) => previous === turn.previous).map(({ runId }) => ({ id: runId })),
              canRetry: turn === current && turn.status === 'FAILED',
            })
          }
        }
        await late!.readUntil((await show(id)).messages.nodes.map((message: any) => message.id))
        for (const reader of [eager, resuming, late]) await reader!.drop()
      }),
      { numRuns: longer(8, 2_000) },
    )
  },
)

async function fork({ runId }: Turn): Promise<any> {
  return mutate('forkConversation', { messageId: (await talk.messages(runId))[0].id })
}

/** Whether the turn is on the branch that ends with `tip`. */
function isBefore(turn: Turn, tip: Turn | undefined): boolean {
  for (let at = tip; at; at = at.previous) if (at === turn) return true
  return false
}
