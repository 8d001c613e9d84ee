import { afterEach, beforeEach, describe, expect, test } from 'vitest'

import { defaultModelSettings } from '../../src/domain/models/model-settings.ts'
import type { ModelPart } from '../../src/domain/models/model-request.ts'
import { createAnthropic } from '../../src/providers/anthropic/anthropic.ts'
import { demoProvider } from '../../src/providers/demo/demo.ts'
import { createOpenAIChat } from '../../src/providers/openai/openai-chat.ts'
import { createOpenAIResponses } from '../../src/providers/openai/openai-responses.ts'
import { secretKey, type FakeCall, type FakeProvider } from '../support/fake-providers/fake-model.ts'
import { aRequest, collect, fakes, hostedFakes, itemsOf } from './speakers.ts'

describe.each(Object.entries({ ...fakes, ...hostedFakes }))('%s over HTTP', (name, start) => {
  let fake: FakeProvider
  beforeEach(async () => {
    fake = await start()
  })
  afterEach(() => fake.stop())

  /** Lets the test answer one request, and returns everything that the provider made of it. */
  async function answer(speak: (call: FakeCall) => void): Promise<ModelPart[]> {
    const parts = collect(fake.provider.stream(aRequest(fake.handle, 'hello'), new AbortController().signal))
    speak(await fake.nextCall())
    return parts
  }

  test('[PRV6] calls whose arguments arrive interleaved are told apart', async () => {
    const calls = [
      { name: 'echo', args: '{"text":"first"}', callId: 'call_a' },
      { name: 'echo', args: '{"text":"second"}', callId: 'call_b' },
    ]
    const parts = await answer((call) => {
      call.callInterleaved(calls)
      call.finish()
    })
    expect(itemsOf(parts).map(({ callId, text, done }) => ({ callId, text, done }))).toEqual([
      { callId: 'call_a', text: '{"text":"first"}', done: true },
      { callId: 'call_b', text: '{"text":"second"}', done: true },
    ])
  })

  test('[PRV6] arguments that are not JSON are passed on unchanged', async () => {
    // Gemini's arguments are part of its JSON.
    const text = name === 'gemini' ? '{"text":"half"}' : '{"text": "half'
    const parts = await answer((call) => {
      call.call('echo', text)
      call.finish()
    })
    expect(itemsOf(parts)).toMatchObject([{ type: 'call', text }])
    expect(parts.at(-1)).toEqual({ type: 'finish', reason: 'end', usage: fake.usage })
  })

  test('[PRV7] an answer that reaches its maximum length ends with that reason; an empty one just ends', async () => {
    const cut = await answer((call) => {
      call.say('as long as')
      call.finish({ reason: 'length' })
    })
    expect(cut.at(-1)).toEqual({ type: 'finish', reason: 'length', usage: fake.usage })
    expect(await answer((call) => call.finish())).toEqual([{ type: 'finish', reason: 'end', usage: fake.usage }])
  })

  test('[PRV7] a withheld answer is not an answer', async () => {
    const parts = await answer((call) => {
      call.say('how to')
      call.finish({ reason: 'filter' })
    })
    expect(parts.at(-1)).toMatchObject({
      type: 'failure',
      stopReason: 'INVALID_LLM_RESPONSE',
      error: { type: 'LLM_ERROR', retryable: false },
    })
  })

  test('[PRV8] a connection that breaks, before or after the first token, is a temporary failure', async () => {
    const late = await answer((call) => {
      call.say('once upon')
      call.exchange.cut()
    })
    expect(late.at(-1)).toMatchObject({ type: 'failure', error: { type: 'LLM_ERROR', retryable: true } })
    const early = collect(fake.provider.stream(aRequest(fake.handle, 'hello'), new AbortController().signal))
    for (let tries = 0; tries < 3; tries += 1) (await fake.nextCall()).exchange.cut()
    expect(await early).toMatchObject([{ type: 'failure', error: { type: 'LLM_ERROR', retryable: true } }])
  })

  test('[PRV8] a stream that has no finish, or is not JSON, is not an answer', async () => {
    for (const spoil of [(call: FakeCall) => call.exchange.end(), (call: FakeCall) => garble(call)]) {
      const parts = await answer((call) => {
        call.say('once upon')
        spoil(call)
      })
      expect(parts.at(-1)).toMatchObject({ type: 'failure', stopReason: 'INVALID_LLM_RESPONSE' })
    }
  })

  test.each([
    ['overload', 'LLM_ERROR'],
    ['server', 'LLM_ERROR'],
    ['rate limit', 'LLM_RATE_LIMIT'],
  ] as const)('[PRV8] an error inside the stream is a failure: %s', async (kind, type) => {
    const parts = await answer((call) => {
      call.say('once upon')
      call.breakWith(kind)
    })
    expect(parts.at(-1)).toMatchObject({ type: 'failure', error: { type, retryable: true, message: /./ } })
    expect(parts.at(-1)).not.toHaveProperty('stopReason')
  })

  test('[PRV9] temporary failures are retried before the first token, as soon as the provider allows', async () => {
    const parts = collect(fake.provider.stream(aRequest(fake.handle, 'hello'), new AbortController().signal))
    ;(await fake.nextCall()).refuse('rate limit', { 'retry-after-ms': '1' })
    ;(await fake.nextCall()).refuse('overload', { 'retry-after-ms': '1' })
    const third = await fake.nextCall()
    third.say('at last')
    third.finish()
    expect(itemsOf(await parts)).toMatchObject([{ type: 'text', text: 'at last' }])
  })

  test('[PRV9] a provider that asks for an hour is not waited for', async () => {
    const parts = await answer((call) => call.refuse('rate limit', { 'retry-after': '3600' }))
    expect(parts).toMatchObject([{ type: 'failure', error: { type: 'LLM_RATE_LIMIT', retryable: true } }])
  })

  test('[PRV10] an abort closes the connection, also before the first token and between two attempts', async () => {
    for (const say of [true, false]) {
      const abort = new AbortController()
      const parts = collect(fake.provider.stream(aRequest(fake.handle, 'hello'), abort.signal))
      const call = await fake.nextCall()
      if (say) call.say('once upon')
      abort.abort()
      await call.exchange.closed
      expect((await parts).some(({ type }) => type === 'finish' || type === 'failure')).toBe(false)
    }
    const abort = new AbortController()
    const parts = collect(fake.provider.stream(aRequest(fake.handle, 'hello'), abort.signal))
    ;(await fake.nextCall()).refuse('rate limit', { 'retry-after-ms': '20000' })
    abort.abort()
    expect(await parts).toEqual([])
  })

  test('[PRV11] no failure contains a key', async () => {
    const failures = [
      await answer((call) => call.refuse('authentication')),
      await answer((call) =>
        call.exchange.refuse({
          status: 400,
          body: { error: { message: `Bad key ${secretKey} or sk-proj-abcdef123456` } },
        }),
      ),
    ]
    expect(failures.map(([part]) => part!.type)).toEqual(['failure', 'failure'])
    expect(JSON.stringify(failures)).not.toMatch(/sk-/)
    expect(JSON.stringify(failures[0])).not.toContain('seen')
  })
})

test.each(Object.entries(fakes))(
  '[PRV12] the body that is sent to %s is the one that is shown',
  async (_name, start) => {
    const fake = await start()
    const request = aRequest(fake.handle, 'hëllo 👋')
    const parts = collect(fake.provider.stream(request, new AbortController().signal))
    const call = await fake.nextCall()
    expect(call.exchange.bodyText).toBe(JSON.stringify(fake.provider.requestBody(request)))
    call.finish()
    await parts
    await fake.stop()
  },
)

/** Half an event of JSON. */
function garble(call: FakeCall): void {
  call.exchange.raw('event: response.output_text.delta\ndata: {"type": "resp\n\n')
  call.exchange.end()
}

const nobody = 'http://127.0.0.1:9'

test.each([
  ['openai/gpt-5', createOpenAIResponses({ apiKey: undefined, baseUrl: nobody }), 'OPENAI_API_KEY'],
  ['openai-chat/gpt-5', createOpenAIChat({ apiKey: undefined, baseUrl: undefined }), 'OPENAI_API_KEY'],
  ['anthropic/claude-opus-5-5', createAnthropic({ apiKey: undefined, baseUrl: nobody }), 'ANTHROPIC_API_KEY'],
] as const)('[PRV13] %s without a key fails with the name of the variable', async (handle, provider, variable) => {
  const [failure] = await collect(provider.stream(aRequest(handle, 'hello'), new AbortController().signal))
  expect(failure).toMatchObject({ type: 'failure', error: { type: 'LLM_AUTHENTICATION' } })
  expect(JSON.stringify(failure)).toContain(variable)
  expect(provider.missing).toContain(variable)
})

test('[PRV7] the scripted model obeys the maximum length too', async () => {
  const request = (maxOutputTokens: number) =>
    aRequest('demo/scripted', 'think a b\nsay c d\ncall echo {}', {
      settings: { ...defaultModelSettings, maxOutputTokens },
    })
  const texts = async (limit: number) => {
    const parts = await collect(demoProvider.stream(request(limit), new AbortController().signal))
    return [...itemsOf(parts).map(({ text }) => text), parts.at(-1)]
  }
  const finish = { type: 'finish', reason: 'length' }
  expect(await texts(1)).toEqual(['a', expect.objectContaining(finish)])
  expect(await texts(3)).toEqual(['a b', 'c', expect.objectContaining(finish)])
  expect(await texts(6)).toEqual(['a b', 'c d', '{}', expect.objectContaining({ ...finish, reason: 'end' })])
})
