import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { secretKey, type FakeProvider } from '../support/fake-providers/fake-model.ts'
import { fakes } from './speakers.ts'

const hello = { role: 'user', content: 'hello' }
const tool = { type: 'function', name: 'echo', parameters: { type: 'object' }, strict: false }

const responses = {
  at: '/responses',
  bodies: {
    'a call without its result': {
      input: [hello, { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' }],
    },
    'a result without its call': { input: [hello, { type: 'function_call_output', call_id: 'a', output: 'x' }] },
    'an unknown role': { input: [{ role: 'robot', content: 'hello' }] },
    'reasoning that is not its own': {
      input: [
        hello,
        { type: 'reasoning', id: 'rs_9', summary: [], encrypted_content: 'forged' },
        { ...hello, role: 'assistant' },
      ],
    },
    'a bad schema': { input: [hello], tools: [{ ...tool, parameters: { type: 'string' } }] },
    'a strict tool that is open': { input: [hello], tools: [{ ...tool, strict: true }] },
    'an unknown field': { input: [hello], max_tokens: 5 },
    'no input': {},
  },
}

const called = {
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
}
const chat = {
  at: '/chat/completions',
  bodies: {
    'a call without its result': { messages: [hello, called, hello] },
    'a result without its call': { messages: [hello, { role: 'tool', tool_call_id: 'a', content: 'x' }] },
    'an unknown role': { messages: [{ role: 'robot', content: 'hello' }] },
    'a bad schema': { messages: [hello], tools: [{ type: 'function', function: { name: 'f', parameters: {} } }] },
    'an unknown field': { messages: [hello], thinking: true },
    'no messages': { messages: [] },
  },
}

const text = (words: string) => [{ type: 'text', text: words }]
const asked = { role: 'user', content: text('hello') }
const used = { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] }
const result = { type: 'tool_result', tool_use_id: 'a', content: 'x' }
const thought = {
  role: 'assistant',
  content: [{ type: 'thinking', thinking: 'hm', signature: 'forged' }, ...text('hi')],
}
const messages = {
  at: '/v1/messages',
  bodies: {
    'a call without its result': { max_tokens: 9, messages: [asked, used, asked] },
    'a result without its call': { max_tokens: 9, messages: [{ role: 'user', content: [result] }] },
    'text before the results': {
      max_tokens: 9,
      messages: [asked, used, { role: 'user', content: [...text('x'), result] }],
    },
    'an error without words': {
      max_tokens: 9,
      messages: [asked, used, { role: 'user', content: [{ ...result, content: '', is_error: true }] }],
    },
    'a wrong order of roles': { max_tokens: 9, messages: [asked, asked] },
    'no question at the end': { max_tokens: 9, messages: [asked, { role: 'assistant', content: text('hi') }] },
    'a missing signature': { max_tokens: 9, messages: [asked, thought, asked] },
    'empty text': { max_tokens: 9, messages: [{ role: 'user', content: text(' ') }] },
    'no max_tokens': { messages: [asked] },
    'a bad schema': { max_tokens: 9, messages: [asked], tools: [{ name: 'f', input_schema: {} }] },
    'thinking by a budget': { max_tokens: 9999, messages: [asked], thinking: { type: 'enabled', budget_tokens: 2000 } },
    'a forced tool': {
      max_tokens: 9,
      messages: [asked],
      tools: [{ name: 'f', input_schema: { type: 'object' } }],
      tool_choice: { type: 'any' },
    },
    'a temperature': { max_tokens: 9, messages: [asked], temperature: 0.5 },
    'an unknown field': { max_tokens: 9, messages: [asked], store: false },
  },
}

describe.each([
  ['openai', responses],
  ['openai-chat', chat],
  ['anthropic', messages],
] as const)('the fake of %s', (name, { at, bodies }) => {
  let fake: FakeProvider
  beforeAll(async () => {
    fake = await fakes[name]()
  })
  afterAll(() => fake.stop())

  const post = (body: object, key = secretKey) =>
    fetch(`${Object.values(fake.env)[1]}${at}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'anthropic-version': '2023-06-01' },
      body: JSON.stringify({ model: fake.handle.split('/')[1], stream: true, ...body }),
    })

  test.each(Object.entries(bodies))('[PRV24] refuses %s', async (_what, body) => {
    expect((await post(body)).status).toBe(400)
  })

  test('[PRV24] refuses a wrong key', async () => {
    expect((await post({}, 'sk-wrong')).status).toBe(401)
  })
})
