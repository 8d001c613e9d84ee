import { describe, expect, test } from 'vitest'

import type { ModelSettings } from '../../src/domain/models/model-settings.ts'
import type { ModelRequest } from '../../src/domain/models/model-request.ts'
import { anthropicBody, betasOf } from '../../src/providers/anthropic/anthropic-request.ts'
import { createAnthropic } from '../../src/providers/anthropic/anthropic.ts'
import { createCatalog } from '../../src/providers/catalog.ts'
import { demoProvider } from '../../src/providers/demo/demo.ts'
import { createOpenAIChat } from '../../src/providers/openai/openai-chat.ts'
import { createOpenAIResponses } from '../../src/providers/openai/openai-responses.ts'
import { aRequest, echoTool } from './speakers.ts'

const access = { apiKey: 'sk-test', baseUrl: undefined }
const openai = createOpenAIResponses(access)
const chat = createOpenAIChat(access)
const anthropic = createAnthropic(access)
const local = createOpenAIChat({ apiKey: undefined, baseUrl: 'http://127.0.0.1:11434/v1' })

function withSettings(model: string, settings: Partial<ModelSettings>, more: Partial<ModelRequest> = {}): ModelRequest {
  const request = aRequest(model, 'hello', more)
  return { ...request, settings: { ...request.settings, ...settings } }
}

const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false }

describe('[CNT4] the schema of the answer', () => {
  const open = { type: 'object', properties: { a: { type: 'string', minLength: 2 } } }
  const list = { type: 'array', items: { type: 'string' } }
  const prompted = (value: object) => expect.stringContaining(JSON.stringify(value))

  test('Responses takes objects, strictly if they are closed', () => {
    const body = (responseSchema: object) =>
      openai.requestBody(withSettings('openai/gpt-4.1', { responseSchema } as never))
    expect(body(open)).toMatchObject({
      instructions: 'Be brief.',
      text: { format: { type: 'json_schema', schema: open, strict: false } },
    })
    expect(body(list)).toMatchObject({ instructions: prompted(list) })
    expect(body(list)).not.toHaveProperty('text')
  })

  test('servers of open models are told it in the prompt too', () => {
    const body = (model: string, responseSchema: object) =>
      chat.requestBody(withSettings(model, { responseSchema } as never)) as any
    expect(body('openai-chat/qwen3:8b', open)).toMatchObject({
      response_format: { type: 'json_schema', json_schema: { schema: open, strict: false } },
      messages: [{ role: 'system', content: prompted(open) }, {}],
    })
    expect(body('openai-chat/gpt-4.1', open).messages[0].content).toBe('Be brief.')
    expect(body('openai-chat/gpt-4.1', list).messages[0].content).toEqual(prompted(list))
  })

  test('Claude takes closed objects if it is of a generation that does', () => {
    const body = (model: string, responseSchema: object) =>
      anthropicBody(withSettings(model, { responseSchema } as never)) as any
    expect(body('anthropic/claude-sonnet-4-5', schema).system[0].text).toBe('Be brief.')
    for (const [model, given] of [
      ['anthropic/claude-sonnet-4-5', open],
      ['anthropic/claude-3-7-sonnet', schema],
    ] as const) {
      expect(body(model, given).system[0].text).toEqual(prompted(given))
      expect(body(model, given)).not.toHaveProperty('output_config')
    }
  })
})

describe('[PRV18] settings reach each provider in its own format', () => {
  const all = { temperature: 0.5, maxOutputTokens: 5000, responseSchema: schema }

  test('Responses', () => {
    expect(openai.requestBody(withSettings('openai/gpt-4.1', all))).toMatchObject({
      model: 'gpt-4.1',
      store: false,
      stream: true,
      instructions: 'Be brief.',
      temperature: 0.5,
      max_output_tokens: 5000,
      text: { format: { type: 'json_schema', schema, strict: true } },
    })
    const reasoning = openai.requestBody(withSettings('openai/gpt-5-mini', { ...all, reasoningEffort: 'MINIMAL' }))
    expect(reasoning).toMatchObject({
      include: ['reasoning.encrypted_content'],
      reasoning: { effort: 'minimal', summary: 'auto' },
    })
    expect(reasoning).not.toHaveProperty('temperature')
    expect(openai.requestBody(withSettings('openai/gpt-6.1-sol', { reasoningEffort: 'MINIMAL' }))).toMatchObject({
      reasoning: { effort: 'low' },
    })
  })

  test('Chat Completions', () => {
    const body = chat.requestBody(withSettings('openai-chat/qwen3:8b', all))
    expect(body).toMatchObject({
      model: 'qwen3:8b',
      temperature: 0.5,
      max_tokens: 5000,
      stream_options: { include_usage: true },
      response_format: { type: 'json_schema', json_schema: { schema, strict: true } },
      messages: [
        { role: 'system', content: expect.stringMatching(/^Be brief\./) },
        { role: 'user', content: 'hello' },
      ],
    })
    expect(body).not.toHaveProperty('tool_choice')
    const reasoning = chat.requestBody(withSettings('openai-chat/o4-mini', { ...all, reasoningEffort: 'LOW' }))
    expect(reasoning).toMatchObject({ max_completion_tokens: 5000, reasoning_effort: 'low' })
    expect(reasoning).not.toHaveProperty('max_tokens')
    expect(reasoning).not.toHaveProperty('temperature')
  })

  test('Messages, by the generation of the model', () => {
    expect(anthropic.requestBody(withSettings('anthropic/claude-sonnet-4-5', all))).toMatchObject({
      model: 'claude-sonnet-4-5',
      max_tokens: 5000,
      temperature: 0.5,
      output_config: { format: { type: 'json_schema', schema } },
    })
    const budget = anthropicBody(withSettings('anthropic/claude-haiku-4-5', { ...all, reasoningBudget: 20_000 }))
    expect(budget.thinking).toEqual({ type: 'enabled', budget_tokens: 4999 })
    expect(budget).not.toHaveProperty('temperature')
    expect(betasOf(budget)).toEqual(['interleaved-thinking-2025-05-14'])

    const adaptive = anthropicBody(withSettings('anthropic/claude-opus-4-8', { ...all, reasoningEffort: 'HIGH' }))
    expect(adaptive).toMatchObject({
      thinking: { type: 'adaptive', display: 'summarized' },
      output_config: { effort: 'high' },
    })
    expect(betasOf(adaptive)).toEqual([])
    expect(anthropicBody(withSettings('anthropic/claude-opus-4-8', {})).thinking).toBeUndefined()

    const always = anthropicBody(withSettings('anthropic/claude-opus-5-5', { temperature: 0.5 }))
    expect(always).toMatchObject({ max_tokens: 32_000, thinking: { type: 'adaptive' } })
    expect(always).not.toHaveProperty('temperature')
    expect(betasOf(always)).toEqual(['thinking-binding-controls-2026-08-01'])
    expect(anthropicBody(withSettings('anthropic/some-other-model', all))).toMatchObject({ temperature: 0.5 })
  })
})

test('[PRV19] a tool call can be forced, and calls can be limited to one at a time', () => {
  const one = { toolChoice: { tool: 'echo' }, parallelToolCalls: false }
  expect(openai.requestBody(withSettings('openai/gpt-5', {}, one))).toMatchObject({
    tool_choice: { type: 'function', name: 'echo' },
    parallel_tool_calls: false,
  })
  expect(chat.requestBody(withSettings('openai-chat/gpt-4.1', {}, one))).toMatchObject({
    tool_choice: { type: 'function', function: { name: 'echo' } },
    parallel_tool_calls: false,
  })
  expect(anthropic.requestBody(withSettings('anthropic/claude-sonnet-4-5', {}, one))).toMatchObject({
    tool_choice: { type: 'tool', name: 'echo', disable_parallel_tool_use: true },
  })
  // A model that thinks cannot be forced.
  expect(anthropic.requestBody(withSettings('anthropic/claude-opus-5-5', {}, one))).toMatchObject({
    tool_choice: { type: 'auto', disable_parallel_tool_use: true },
  })
  const required = { toolChoice: 'required' as const }
  expect(openai.requestBody(withSettings('openai/gpt-5', {}, required))).toMatchObject({ tool_choice: 'required' })
  expect(anthropic.requestBody(withSettings('anthropic/claude-opus-4-6', {}, required))).toMatchObject({
    tool_choice: { type: 'any' },
  })
  for (const body of [
    openai.requestBody(withSettings('openai/gpt-5', {}, { ...required, tools: [] })),
    chat.requestBody(withSettings('openai-chat/gpt-5', {}, { ...required, tools: [] })),
    anthropic.requestBody(withSettings('anthropic/claude-opus-4-6', {}, { ...required, tools: [] })),
  ]) {
    expect(body).not.toHaveProperty('tools')
    expect(body).not.toHaveProperty('tool_choice')
  }
})

test('[PRV20] a tool is strict if its schema is closed, and its schema is never changed', () => {
  const closed = { ...echoTool, name: 'closed', parameters: schema }
  const tools = [echoTool, closed]
  expect(openai.requestBody(withSettings('openai/gpt-5', {}, { tools }))['tools']).toMatchObject([
    { name: 'echo', parameters: echoTool.parameters, strict: false },
    { name: 'closed', parameters: schema, strict: true },
  ])
  const [open, strict] = chat.requestBody(withSettings('openai-chat/gpt-5', {}, { tools }))['tools'] as any[]
  expect(open.function).not.toHaveProperty('strict')
  expect(strict.function.strict).toBe(true)
  const claude = anthropic.requestBody(withSettings('anthropic/claude-sonnet-5', {}, { tools }))['tools'] as any[]
  expect(claude.map((tool) => tool.strict)).toEqual([undefined, true])
  expect(claude[1].input_schema).toEqual(schema)
  const many = Array.from({ length: 21 }, (_, index) => ({ ...closed, name: `closed_${index}` }))
  const body = anthropic.requestBody(withSettings('anthropic/claude-sonnet-5', {}, { tools: many }))
  expect((body['tools'] as any[]).map(({ strict: isStrict }) => isStrict)).toEqual([...Array(20).fill(true), undefined])
})

test('[PRV21] images are passed on by address or as bytes; the server does not fetch them', () => {
  const messages = [
    {
      role: 'user' as const,
      content: [
        { text: 'look' },
        { image: { url: 'https://example.com/a.png' } },
        { image: { mediaType: 'image/png', name: null, sizeBytes: 8, tokens: 1, base64: 'iVBORw0KGgo=' } },
      ],
    },
  ]
  expect(openai.requestBody(aRequest('openai/gpt-5', '', { messages }))['input']).toMatchObject([
    {
      content: [
        { type: 'input_text', text: 'look' },
        { type: 'input_image', image_url: 'https://example.com/a.png' },
        { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' },
      ],
    },
  ])
  expect(chat.requestBody(aRequest('openai-chat/gpt-5', '', { messages }))['messages']).toMatchObject([
    {},
    { content: [{ type: 'text' }, { image_url: { url: 'https://example.com/a.png' } }, { type: 'image_url' }] },
  ])
  expect(anthropic.requestBody(aRequest('anthropic/claude-sonnet-5', '', { messages }))['messages']).toMatchObject([
    {
      content: [
        { type: 'text' },
        { source: { type: 'url', url: 'https://example.com/a.png' } },
        { source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
      ],
    },
  ])
})

test('[PRV22] Claude is told where its prompt cache may begin', () => {
  const body = anthropicBody(aRequest('anthropic/claude-sonnet-5', 'hello'))
  expect(body.system).toMatchObject([{ text: 'Be brief.', cache_control: { type: 'ephemeral' } }])
  expect(body.messages.at(-1)!.content).toMatchObject([{ text: 'hello', cache_control: { type: 'ephemeral' } }])
})

describe('[PRV23] the catalog', () => {
  const catalog = createCatalog([demoProvider, openai, chat, anthropic])

  test('lists what the configuration reaches', () => {
    const handles = catalog.list().map(({ handle }) => handle)
    for (const handle of ['demo/scripted', 'openai/gpt-5', 'openai-chat/gpt-5', 'anthropic/claude-opus-5-5']) {
      expect(handles).toContain(handle)
    }
    // Only another server itself knows its models.
    expect(local.models()).toEqual([])
  })

  test('takes any name of a provider that has one, with a window to start from', () => {
    expect(catalog.find('openai-chat/meta-llama/Llama-4:70b')).toMatchObject({ contextWindow: 128_000 })
    expect(catalog.find('openai/gpt-4.1-2025-04-14')).toMatchObject({ contextWindow: 1_047_576 })
    expect(catalog.find('anthropic/claude-haiku-4-5-20251001')).toMatchObject({ contextWindow: 200_000 })
    expect(catalog.providerOf('openai-chat/whatever')).toBe(chat)
    expect(catalog.requestBody(aRequest('openai-chat/whatever', 'hello'))).toMatchObject({ model: 'whatever' })
  })

  test('knows no others', () => {
    for (const handle of ['nobody/gpt-5', 'gpt-5', 'openai/', '/gpt-5', 'openai', 'demo/other', 'openai/a b', '']) {
      expect(catalog.find(handle)).toBeUndefined()
      expect(catalog.providerOf(handle)).toBeUndefined()
    }
  })
})
