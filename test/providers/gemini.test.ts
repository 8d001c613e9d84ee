import { afterEach, beforeEach, expect, test } from 'vitest'

import { defaultModelSettings } from '../../src/domain/models/model-settings.ts'
import type { ModelMessage, ModelPart } from '../../src/domain/models/model-request.ts'
import { createGemini } from '../../src/providers/gemini/gemini.ts'
import { secretKey, type FakeCall, type FakeProvider } from '../support/fake-providers/fake-model.ts'
import { startFakeGemini } from '../support/fake-providers/gemini.ts'
import { aRequest, collect, itemsOf } from './speakers.ts'

let fake: FakeProvider
beforeEach(async () => {
  fake = await startFakeGemini()
})
afterEach(() => fake.stop())

async function answer(speak: (call: FakeCall) => void, more: object = {}): Promise<ModelPart[]> {
  const request = aRequest(fake.handle, 'hello', more)
  const parts = collect(fake.provider.stream(request, new AbortController().signal))
  speak(await fake.nextCall())
  return parts
}

test('[PRV50] the body that is sent to Gemini is the one that is shown, byte for byte', async () => {
  const settings = { ...defaultModelSettings, temperature: 0.5, maxOutputTokens: 900, reasoningEffort: 'LOW' as const }
  const responseSchema = { type: 'object', properties: { a: { type: 'string' } } }
  for (const more of [{}, { settings: { ...settings, responseSchema }, toolChoice: { tool: 'echo' } }]) {
    const request = aRequest(fake.handle, 'hëllo 👋', more)
    const parts = collect(fake.provider.stream(request, new AbortController().signal))
    const call = await fake.nextCall()
    expect(call.exchange.bodyText).toBe(JSON.stringify(fake.provider.requestBody(request)))
    call.finish()
    await parts
  }
})

test('[PRV50] the signature of a call, of a text and of a thought goes back where it came from', async () => {
  const said = itemsOf(
    await answer((call) => {
      call.think('let me see')
      call.call('echo', { text: 'one' })
      call.call('echo', { text: 'two' })
      call.finish()
    }),
  )
  expect(said.map(({ type }) => type)).toEqual(['reasoning', 'call', 'call'])
  expect(said[0]).toMatchObject({ text: 'let me see', provider: { data: { callSignature: 'c2lnXw0', call: 0 } } })

  const silent = itemsOf(
    await answer((call) => {
      call.thinkInSecret()
      call.call('echo', { text: 'one' })
      call.finish()
    }),
  )
  expect(silent.map(({ type, redacted }) => [type, redacted])).toEqual([
    ['done', true],
    ['call', undefined],
  ])

  const messages: ModelMessage[] = [
    { role: 'user', content: [{ text: 'hello' }] },
    {
      role: 'assistant',
      parts: [
        { type: 'reasoning', text: 'let me see', provider: said[0]!['provider'] as never },
        ...['fc_0', 'fc_1'].map((callId) => ({ type: 'call' as const, callId, name: 'echo', argumentsText: '{}' })),
      ],
    },
    { role: 'tool', returns: ['fc_0', 'fc_1'].map((callId) => ({ callId, name: 'echo', failed: false, output: 'x' })) },
  ]
  const parts = collect(fake.provider.stream({ ...aRequest(fake.handle, ''), messages }, new AbortController().signal))
  const call = await fake.nextCall()
  expect(call.body.contents[1].parts).toEqual([
    { functionCall: { id: 'fc_0', name: 'echo', args: {} }, thoughtSignature: 'c2lnXw0' },
    { functionCall: { id: 'fc_1', name: 'echo', args: {} } },
  ])
  call.thinkInSecret()
  call.say('done')
  call.finish()
  expect(itemsOf(await parts)).toMatchObject([
    { type: 'text', text: 'done', provider: { data: { signature: 'c2lnXw2' } } },
  ])
})

test('[PRV50] a conversation of another model continues with Gemini, and a signature that it refuses is left out', async () => {
  const provider = { model: fake.handle, data: { callSignature: 'b2xk', call: 0 } }
  const messages: ModelMessage[] = [
    { role: 'assistant', parts: [{ type: 'text', text: 'Hello!', provider: null }] },
    { role: 'user', content: [{ text: 'hello' }] },
    {
      role: 'assistant',
      parts: [
        { type: 'reasoning', text: '', provider },
        { type: 'call', callId: 'toolu_1', name: 'echo', argumentsText: '{"text":"a"}' },
      ],
    },
    { role: 'tool', returns: [{ callId: 'toolu_1', name: 'echo', failed: true, output: 'no' }] },
    { role: 'system', text: 'Be quick.' },
  ]
  const parts = collect(fake.provider.stream({ ...aRequest(fake.handle, ''), messages }, new AbortController().signal))
  const call = await fake.nextCall()
  expect(fake.refused).toHaveLength(1)
  expect(call.body.contents[3].parts[0]).toMatchObject({ thoughtSignature: 'skip_thought_signature_validator' })
  expect(call.body.contents[4].parts).toMatchObject([
    { functionResponse: { id: 'toolu_1', response: { error: 'no' } } },
    { text: expect.stringContaining('Be quick.') },
  ])
  call.say('done')
  call.finish()
  expect((await parts).at(-1)).toMatchObject({ type: 'finish' })
})

test('[PRV50] ends, blocks and breaks of an answer are told apart', async () => {
  const last = async (speak: (call: FakeCall) => void) => (await answer(speak)).at(-1)
  expect(await last((call) => call.finish())).toEqual({ type: 'finish', reason: 'end', usage: fake.usage })
  expect(await last((call) => call.finish({ reason: 'length' }))).toMatchObject({ reason: 'length' })
  const withheld = { type: 'failure', stopReason: 'INVALID_LLM_RESPONSE', error: { retryable: false } }
  expect(await last((call) => call.finish({ reason: 'filter' }))).toMatchObject(withheld)
  expect(
    await last(({ exchange }) => {
      exchange.send({ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } })
      exchange.end()
    }),
  ).toMatchObject(withheld)
  expect(
    await last((call) => {
      call.say('once')
      call.exchange.end()
    }),
  ).toMatchObject({ type: 'failure', stopReason: 'INVALID_LLM_RESPONSE', error: { retryable: true } })
  expect(
    await last((call) => {
      call.say('once')
      call.breakWith('overload')
    }),
  ).toMatchObject({ type: 'failure', error: { type: 'LLM_ERROR', retryable: true } })
  expect(
    await last((call) => {
      call.exchange.raw('data: {"candidates": [{"content": {"parts": 5}}]}\n\n')
      call.exchange.end()
    }),
  ).toMatchObject({ type: 'failure', stopReason: 'INVALID_LLM_RESPONSE' })
})

test('[PRV50] Gemini lists its models, and without a key it says which variable to set', async () => {
  expect(await fake.provider.listModels!(new AbortController().signal)).toContain('local-model')
  const provider = createGemini({ apiKey: undefined, baseUrl: undefined })
  expect(provider.missing).toContain('GEMINI_API_KEY')
  expect(provider.find!('gemini/gemini-2.5-pro')).toMatchObject({
    contextWindow: 1_048_576,
    capabilities: ['IMAGES', 'DOCUMENTS', 'TOOLS', 'STRUCTURED_OUTPUT', 'REASONING'],
  })
})

test('[PRV50] an abort closes the connection, and no failure has the key', async () => {
  const abort = new AbortController()
  const parts = collect(fake.provider.stream(aRequest(fake.handle, 'hello'), abort.signal))
  const call = await fake.nextCall()
  call.say('once upon')
  abort.abort()
  await call.exchange.closed
  expect((await parts).some(({ type }) => type === 'finish' || type === 'failure')).toBe(false)
  const failed = await answer(({ exchange }) =>
    exchange.refuse({
      status: 403,
      body: { error: { code: 403, message: `no ${secretKey} here`, status: 'PERMISSION_DENIED' } },
    }),
  )
  expect(failed).toMatchObject([
    { error: { type: 'LLM_AUTHENTICATION', detail: expect.stringContaining('no *** here') } },
  ])
})
