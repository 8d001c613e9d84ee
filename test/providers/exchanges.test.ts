import { afterAll, beforeAll, expect, test } from 'vitest'

import type { AssistantPart, ModelMessage, ModelPart, ModelRequest } from '../../src/domain/models/model-request.ts'
import type { FakeCall, FakeProvider } from '../support/fake-providers/fake-model.ts'
import { aRequest, collect, fakes, itemsOf } from './speakers.ts'

const names = Object.keys(fakes) as (keyof typeof fakes)[]
const started = {} as Record<keyof typeof fakes, FakeProvider>
beforeAll(async () => {
  for (const name of names) started[name] = await fakes[name]()
})
afterAll(async () => {
  for (const name of names) await started[name].stop()
})

/** Sends the exchange so far, and adds the answer as the engine would. */
async function turn(fake: FakeProvider, request: ModelRequest, speak: (call: FakeCall) => void) {
  const parts = collect(fake.provider.stream(request, new AbortController().signal))
  const call = await Promise.race([fake.nextCall(), parts.then(refusedWith(fake))])
  speak(call)
  const answer = await parts
  expect(answer.at(-1)).toMatchObject({ type: 'finish' })
  return { body: call.body, messages: [...request.messages, ...answered(answer)] }
}

const refusedWith = (fake: FakeProvider) => (parts: ModelPart[]) => {
  throw new Error(`It was not asked: ${JSON.stringify(parts)} ${fake.refused.at(-1)}`)
}

function answered(answer: readonly ModelPart[]): ModelMessage[] {
  const parts = itemsOf(answer).map((item): AssistantPart => {
    const { text, name, callId } = item
    if (item.type === 'call') {
      return { type: 'call', callId: String(callId), name: String(name), argumentsText: text }
    }
    return {
      type: item.type === 'text' ? 'text' : 'reasoning',
      text,
      provider: (item['provider'] ?? null) as never,
    }
  })
  const calls = parts.flatMap((part) => (part.type === 'call' ? [part] : []))
  const returns = calls.map(({ callId, name }, place) => ({
    callId,
    name,
    failed: place > 0,
    output: `result ${place}`,
  }))
  return [
    ...(parts.length > 0 ? [{ role: 'assistant' as const, parts }] : []),
    ...(returns.length > 0 ? [{ role: 'tool' as const, returns }] : []),
  ]
}

const user = (text: string): ModelMessage => ({ role: 'user', content: [{ text }] })
const effort = (fake: FakeProvider, messages: readonly ModelMessage[], model = fake.handle) => {
  const request = aRequest(model, '', { messages })
  return { ...request, settings: { ...request.settings, reasoningEffort: 'HIGH' as const } }
}

test.each(names)('[PRV14] %s gets its reasoning back exactly, between the calls and after', async (name) => {
  const fake = started[name]
  const first = await turn(fake, effort(fake, [user('look it up')]), (call) => {
    call.think('first this\n\nthen that')
    call.thinkInSecret()
    call.call('echo', { text: 'a' })
    call.call('echo', { text: 'b' })
    call.finish()
  })
  const second = await turn(fake, effort(fake, first.messages), (call) => {
    call.think('and now')
    call.say('here')
    call.call('echo', { text: 'c' })
    call.finish()
  })
  const third = await turn(fake, effort(fake, second.messages), (call) => {
    call.say('done')
    call.finish()
  })
  const sent = {
    openai: [/"id":"rs_\d+","summary":\[{"type":"summary_text","text":"first this"},{.*?"then that"}\]/, /"enc_1"/],
    'openai-chat': [/"reasoning_content":"first this\\n\\nthen that"/],
    anthropic: [/{"type":"thinking","thinking":"first this\\n\\nthen that","signature":"sig_0"}/, /"redacted_0"/],
    gemini: [/"text":"a"},"id":"fc_0","name":"echo"},"thoughtSignature":"c2lnXw1"/],
  }[name]
  for (const pattern of sent) expect(JSON.stringify(second.body)).toMatch(pattern)
  // Gemini signs what follows a thought instead.
  expect(JSON.stringify(third.body)).toContain(name === 'gemini' ? 'c2lnXw2' : 'and now')

  // With the next message, the strict server accepts the whole exchange.
  await turn(fake, effort(fake, [...third.messages, user('thanks')]), (call) => call.finish())
})

test.each(names)('[PRV15] an exchange that began with another provider continues with %s', async (name) => {
  const fake = started[name]
  const others = names.filter((other) => other !== name)
  let messages: ModelMessage[] = [user('hello')]
  for (const other of [...others, ...others]) {
    const { handle } = started[other]
    const next = await turn(started[other], effort(started[other], messages, handle), (call) => {
      call.think('thoughts of another')
      call.say('let me look')
      // Repeated ids, and ids that not every provider accepts.
      call.call('echo', { text: 'x' }, { callId: 'call_1' })
      call.call('echo', { text: 'y' }, { callId: `${other}:${'z'.repeat(30)}/1` })
      call.finish()
    })
    messages = next.messages
  }
  // In the middle of a turn whose calls another model made.
  const { body, messages: after } = await turn(fake, effort(fake, messages), (call) => {
    call.think('my own')
    call.say('I see')
    call.finish()
  })
  expect(JSON.stringify(body)).not.toContain('thoughts of another')
  await turn(fake, effort(fake, [...after, user('go on')]), (call) => call.finish())
})

test.each(names)('[PRV15] %s accepts an exchange that no provider would have produced', async (name) => {
  const fake = started[name]
  const callId = `call|${'9'.repeat(90)}`
  const messages: ModelMessage[] = [
    { role: 'system', text: 'A summary of what came before.' },
    { role: 'assistant', parts: [{ type: 'text', text: 'an interrupted ans', provider: null }] },
    user('   '),
    user('what is this?'),
    {
      role: 'assistant',
      parts: [
        { type: 'reasoning', text: 'unsigned', provider: null },
        { type: 'call', callId, name: 'no such tool!', argumentsText: '{"text": "half' },
        { type: 'call', callId, name: 'echo', argumentsText: '' },
      ],
    },
    {
      role: 'tool',
      returns: [
        { callId, name: 'no such tool!', failed: true, output: 'There is no such tool.' },
        { callId, name: 'echo', failed: false, output: '' },
      ],
    },
    // An answer with only reasoning, and an empty one.
    { role: 'assistant', parts: [{ type: 'reasoning', text: 'hm', provider: { model: fake.handle, data: {} } }] },
    { role: 'assistant', parts: [] },
    { role: 'system', text: 'A word of the operator.' },
    user('go on'),
  ]
  const { body } = await turn(fake, effort(fake, messages), (call) => call.finish())
  expect(JSON.stringify(body)).not.toMatch(/unsigned|"hm"/)
  expect(JSON.stringify(body)).toContain('unparsable')
})

test.each(['openai', 'anthropic'] as const)(
  '[PRV16] if %s no longer accepts its reasoning, it is asked without it',
  async (name) => {
    const fake = started[name]
    const data = { id: 'rs_old', summary: [], encrypted_content: 'enc_of_another_account', signature: 'sig_old' }
    const provider = { model: fake.handle, data }
    const messages: ModelMessage[] = [
      user('hello'),
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', text: 'old thoughts', provider },
          { type: 'text', text: 'hi', provider: null },
        ],
      },
      user('again'),
    ]
    const { body } = await turn(fake, effort(fake, messages), (call) => call.finish())
    expect(fake.refused.splice(0)).toHaveLength(1)
    expect(JSON.stringify(body)).not.toContain('old thoughts')
  },
)

test('[PRV14] a changed prompt does not make Claude refuse its earlier reasoning', async () => {
  const fake = started.anthropic
  const first = await turn(fake, effort(fake, [user('hello')]), (call) => {
    call.think('hm')
    call.say('hi')
    call.finish()
  })
  const request = { ...effort(fake, [...first.messages, user('again')]), systemPrompt: 'Other memories.' }
  const { body } = await turn(fake, request, (call) => call.finish())
  expect(JSON.stringify(body)).toContain('"signature":"sig_')
})

test('[PRV14] a model with a thinking budget finishes a turn without thinking if it began without', async () => {
  const fake = started.anthropic
  const model = 'anthropic/claude-haiku-4-5'
  const request = { ...effort(fake, [user('hello')], model), settings: aRequest(model, '').settings }
  const first = await turn(fake, request, (call) => {
    call.call('echo', { text: 'x' })
    call.finish()
  })
  const second = await turn(fake, effort(fake, first.messages, model), (call) => {
    call.say('done')
    call.finish()
  })
  expect(second.body.thinking).toBeUndefined()
  const third = await turn(fake, effort(fake, [...second.messages, user('more')], model), (call) => call.finish())
  expect(third.body.thinking).toEqual({ type: 'enabled', budget_tokens: 16_384 })
})

test.each(names)('[PRV17] each request to %s begins with the previous one', async (name) => {
  const { provider, handle } = started[name]
  const body = (messages: readonly ModelMessage[]) => {
    // Gemini's SDK writes the contents before the prompt. The order of keys means nothing to its cache.
    const { contents, ...rest } = provider.requestBody(aRequest(handle, '', { messages }))
    return JSON.stringify({ ...rest, contents })
  }
  const marks = /,"cache_control":{"type":"ephemeral"}/g
  const before = body([user('hello')]).replaceAll(marks, '')
  const after = body([user('hello'), ...answeredText('hi'), user('more')]).replaceAll(marks, '')
  // Except for the end of the list and of the body.
  expect(after.startsWith(before.replace(/\]}$/, ''))).toBe(true)
})

function answeredText(text: string): ModelMessage[] {
  return [{ role: 'assistant', parts: [{ type: 'text', text, provider: null }] }]
}
