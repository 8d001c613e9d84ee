import { afterAll, beforeAll, expect, test } from 'vitest'

import type { ModelPart } from '../../src/domain/models/model-request.ts'
import type { FakeCall, FakeProvider } from '../support/fake-providers/fake-model.ts'
import { aRequest, collect, fakes, itemsOf } from './speakers.ts'

type Name = keyof typeof fakes
const names = Object.keys(fakes) as Name[]
const started = {} as Record<Name, FakeProvider>
beforeAll(async () => {
  for (const name of names) started[name] = await fakes[name]()
})
afterAll(async () => {
  for (const name of names) await started[name].stop()
})

async function answer(name: Name, speak: (call: FakeCall) => void): Promise<ModelPart[]> {
  const { provider, handle, nextCall } = started[name]
  const parts = collect(provider.stream(aRequest(handle, 'hello'), new AbortController().signal))
  speak(await nextCall())
  return parts
}

/** Events as they are on the wire, and the end of the answer. */
function sendAll(events: readonly object[]): (call: FakeCall) => void {
  return ({ exchange }) => {
    for (const event of events) exchange.send(event, 'type' in event ? String(event.type) : undefined)
    exchange.end()
  }
}

const hi: Record<Name, (usage?: object) => object[]> = {
  openai: (usage) => [
    { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'hi' },
    { type: 'response.completed', response: { status: 'completed', usage } },
  ],
  'openai-chat': (usage) => [
    { choices: [{ index: 0, delta: { content: 'hi' }, finish_reason: 'stop' }] },
    { choices: [], usage },
  ],
  anthropic: (usage) => [
    { type: 'message_start', message: { content: [], usage } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'hi' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
    { type: 'message_stop' },
  ],
  gemini: (usageMetadata) => [content([{ text: 'hi' }]), { ...content([{ text: '' }], 'STOP'), usageMetadata }],
}

function content(parts: unknown, finishReason?: string) {
  return { candidates: [{ content: { parts, role: 'model' }, finishReason, index: 0 }] }
}

const noTokens = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0 }
const nonsense = {
  input_tokens: 1e15,
  output_tokens: 12.5,
  prompt_tokens: '12',
  completion_tokens: -1,
  promptTokenCount: '12',
  candidatesTokenCount: -1,
  thoughtsTokenCount: null,
  cachedContentTokenCount: 1e15,
}

test.each(names)('[PRV28] %s may report no token counts or nonsense: the answer is still valid', async (name) => {
  for (const usage of [undefined, nonsense]) {
    const parts = await answer(name, sendAll(hi[name](usage)))
    expect(itemsOf(parts)).toMatchObject([{ type: 'text', text: 'hi' }])
    const written = name === 'anthropic' && { cacheWriteTokens: 0 }
    expect(parts.at(-1)).toEqual({ type: 'finish', reason: 'end', usage: { ...noTokens, ...written } })
  }
})

test.each([
  ['openai', [{ type: 'response.function_call_arguments.delta', output_index: 3, delta: '{}' }, ...hi.openai()]],
  [
    'anthropic',
    [{ type: 'content_block_delta', index: 7, delta: { type: 'text_delta', text: 'o' } }, ...hi.anthropic()],
  ],
  [
    'anthropic',
    [
      { type: 'content_block_start', index: 7, content_block: { type: 'text', text: 'once' } },
      { type: 'content_block_delta', index: 7, delta: { type: 'input_json_delta', partial_json: '{}' } },
      ...hi.anthropic(),
    ],
  ],
] as const)('[PRV29] pieces of %s that belong to no item are not an answer', async (name, events) => {
  expect((await answer(name, sendAll(events))).at(-1)).toMatchObject({
    type: 'failure',
    stopReason: 'INVALID_LLM_RESPONSE',
    error: { type: 'LLM_ERROR', retryable: true },
  })
})

const noAnswer = {
  type: 'failure',
  stopReason: 'INVALID_LLM_RESPONSE',
  error: { type: 'LLM_ERROR', message: 'The model provider sent parts that do not form an answer.' },
}

const delta = (value: unknown) => ({ choices: [{ index: 0, delta: value }] })
const start = (content_block: unknown) => ({ type: 'content_block_start', index: 0, content_block })

test.each<[Name, unknown]>([
  ['openai-chat', null],
  ['openai-chat', 5],
  ['openai-chat', []],
  ['openai-chat', { choices: 5 }],
  ['openai-chat', { choices: [{ index: 0, delta: 'x' }, null] }],
  ['openai-chat', delta({ content: 5 })],
  ['openai-chat', delta({ content: { text: 'x' } })],
  ['openai-chat', delta({ content: [null] })],
  ['openai-chat', delta({ content: [{ type: 'text', text: 5 }] })],
  ['openai-chat', delta({ reasoning: true })],
  ['openai-chat', delta({ tool_calls: 5 })],
  ['openai-chat', delta({ tool_calls: [null] })],
  ['openai-chat', delta({ tool_calls: [{ index: 0, id: 'c', function: { name: 5 } }] })],
  ['openai-chat', delta({ tool_calls: [{ index: 0, id: 7, function: { name: 'echo' } }] })],
  ['openai-chat', delta({ tool_calls: [{ index: 0, id: 'c', function: { name: 'echo', arguments: 5 } }] })],
  ['openai', { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 5 }],
  ['openai', { type: 'response.output_item.added', output_index: 0, item: null }],
  [
    'openai',
    { type: 'response.output_item.added', output_index: 0, item: { type: 'function_call', call_id: 'c', name: 5 } },
  ],
  [
    'openai',
    { type: 'response.output_item.done', output_index: 0, item: { type: 'reasoning', encrypted_content: 'x' } },
  ],
  ['openai', { type: 'response.completed', response: null }],
  ['anthropic', { type: 'message_start', message: null }],
  ['anthropic', start(null)],
  ['anthropic', start({ type: 'text', text: 5 })],
  ['anthropic', start({ type: 'tool_use', id: 'c', name: 5, input: {} })],
  ['anthropic', { type: 'message_delta', delta: null }],
  ['gemini', content(5)],
  ['gemini', content([null])],
  ['gemini', content([{ text: 5 }])],
  ['gemini', content([{ functionCall: { name: 5 } }])],
  ['gemini', content([{ functionCall: { name: 'echo', args: {}, id: 5 } }])],
  ['gemini', content([{ functionCall: { args: {} } }])],
])('[PRV38] a chunk of %s that has the wrong shape is not an answer: %j', async (name, event) => {
  const parts = await answer(name, ({ exchange }) => {
    exchange.send(event, (event as { type?: string } | null)?.type)
    exchange.end()
  })
  expect(parts.at(-1)).toMatchObject(noAnswer)
})

test('[PRV38] choices that are null say nothing, content may be a list of parts, and arguments an object', async () => {
  const parts = await answer(
    'openai-chat',
    sendAll([
      { choices: null },
      delta({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] }] }),
      delta({ content: [{ type: 'text', text: 'hi ' }, { type: 'text', text: 'there' }, { type: 'reference' }] }),
      delta({ tool_calls: [{ index: 0, id: 'c', function: { name: 'echo', arguments: { text: 'x' } } }] }),
      { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
    ]),
  )
  expect(itemsOf(parts)).toMatchObject([
    { type: 'reasoning', text: 'hm' },
    { type: 'text', text: 'hi there' },
    { type: 'call', name: 'echo', text: '{"text":"x"}' },
  ])
  expect(parts.at(-1)).toMatchObject({ type: 'finish', reason: 'end' })
})

test.each([
  ['incomplete', { incomplete_details: { reason: 'max_output_tokens' } }, { type: 'finish', reason: 'length' }],
  [
    'failed',
    { error: { code: 'server_error', message: 'It broke.' } },
    { type: 'failure', error: { type: 'LLM_ERROR' } },
  ],
])('[PRV39] a response that completes with the status %s is not a finished answer', async (status, more, expected) => {
  const completed = { type: 'response.completed', response: { status, ...more } }
  expect((await answer('openai', sendAll([hi.openai()[0]!, completed]))).at(-1)).toMatchObject(expected)
})

test('[PRV29] a call that arrives complete with its end is a call', async () => {
  const item = { type: 'function_call', call_id: 'c', name: 'echo', arguments: '{"text":"x"}' }
  const done = { type: 'response.output_item.done', output_index: 1, item }
  expect(itemsOf(await answer('openai', sendAll([done, ...hi.openai()])))).toMatchObject([
    { type: 'call', name: 'echo', callId: 'c', text: '{"text":"x"}', done: true },
    { type: 'text', text: 'hi' },
  ])
})

const openaiError = (message: string, more: object = {}) => ({ error: { message, param: null, code: null, ...more } })
const anthropicError = (message: string) => ({ type: 'error', error: { type: 'invalid_request_error', message } })
const geminiBodyOf = (message: string) => ({ error: { code: 400, message, status: 'INVALID_ARGUMENT' } })

test.each([
  ['openai', 400, openaiError('Input tokens exceed the configured limit of 272000 tokens.')],
  ['openai', 413, openaiError('Payload Too Large')],
  ['openai-chat', 400, openaiError("This model's maximum context length is 4096 tokens.")],
  ['openai-chat', 400, openaiError('Please reduce the length of the messages or completion.')],
  ['openai-chat', 500, openaiError('the request exceeds the available context size')],
  [
    'gemini',
    400,
    geminiBodyOf('The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).'),
  ],
  ['gemini', 400, geminiBodyOf('Request payload size exceeds the limit: 20971520 bytes.')],
  ['anthropic', 400, anthropicError('input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000')],
] as const)('[PRV30] "too long" is recognised in the wording of %s (%i)', async (name, status, body) => {
  const parts = collect(
    started[name].provider.stream(aRequest(started[name].handle, 'hello'), new AbortController().signal),
  )
  // Temporary failures are tried three times.
  for (let tries = status === 500 ? 3 : 1; tries > 0; tries -= 1) {
    ;(await started[name].nextCall()).exchange.refuse({ status, body, headers: { 'retry-after-ms': '1' } })
  }
  expect(await parts).toMatchObject([{ type: 'failure', error: { type: 'LLM_CONTEXT_WINDOW' } }])
})

test('[PRV30] "too long" is recognised inside a stream, and an account without credit is not a bad request', async () => {
  const inside = openaiError('Too large.', { type: 'exceed_context_size_error', code: 400 })
  expect((await answer('openai-chat', sendAll([inside]))).at(-1)).toMatchObject({
    error: { type: 'LLM_CONTEXT_WINDOW' },
  })
  const body = anthropicError('Your credit balance is too low to access the Anthropic API.')
  expect(await answer('anthropic', ({ exchange }) => exchange.refuse({ status: 400, body }))).toMatchObject([
    { error: { type: 'LLM_RATE_LIMIT', retryable: false } },
  ])
})

test('[PRV49] what a provider wants back is refused if it is nested too deeply to be stored', async () => {
  let deep: unknown = 1
  for (let level = 0; level < 3_000; level += 1) deep = [deep]
  const item = { type: 'reasoning', id: 'r', summary: [{ text: deep }], encrypted_content: 'x' }
  const events = [{ type: 'response.output_item.done', output_index: 0, item }, ...hi.openai()]
  expect((await answer('openai', sendAll(events))).at(-1)).toMatchObject({
    type: 'failure',
    stopReason: 'INVALID_LLM_RESPONSE',
  })
})
