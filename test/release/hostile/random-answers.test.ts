import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { isJsonObject, type Json } from '../../../src/util/json.ts'
import { anyText } from '../../support/any-text.ts'
import type { FakeProvider } from '../../support/fake-providers/fake-model.ts'
import type { Exchange } from '../../support/fake-providers/fake-server.ts'
import { fakes } from '../../providers/speakers.ts'
import { askModel } from './ask-model.ts'
import { longer } from '../../support/long.ts'

const numRuns = longer(40, 2_000)

/** A good answer in each format: reasoning or text, and a call. */
const answers: Record<keyof typeof fakes, Json[]> = {
  openai: [
    { type: 'response.created', response: { status: 'in_progress' } },
    { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'hi' },
    {
      type: 'response.output_item.added',
      output_index: 1,
      item: { type: 'function_call', call_id: 'c', name: 'echo', arguments: '' },
    },
    { type: 'response.function_call_arguments.delta', output_index: 1, delta: '{}' },
    {
      type: 'response.output_item.done',
      output_index: 2,
      item: { type: 'reasoning', id: 'r', summary: [], encrypted_content: 'x' },
    },
    { type: 'response.completed', response: { status: 'completed', usage: { input_tokens: 1, output_tokens: 1 } } },
  ],
  'openai-chat': [
    { choices: [{ index: 0, delta: { reasoning_content: 'hm' } }] },
    { choices: [{ index: 0, delta: { content: 'hi' } }] },
    {
      choices: [
        { index: 0, delta: { tool_calls: [{ index: 0, id: 'c', function: { name: 'echo', arguments: '{}' } }] } },
      ],
    },
    { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }], usage: { prompt_tokens: 1 } },
  ],
  anthropic: [
    { type: 'message_start', message: { content: [], usage: { input_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 's' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 'c', name: 'echo', input: {} } },
    { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{}' } },
    { type: 'content_block_stop', index: 1 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ],
  gemini: [
    { candidates: [{ content: { parts: [{ text: 'hm', thought: true }], role: 'model' }, index: 0 }] },
    { candidates: [{ content: { parts: [{ text: 'hi', thoughtSignature: 'c2ln' }], role: 'model' }, index: 0 }] },
    {
      candidates: [
        { content: { parts: [{ functionCall: { name: 'echo', args: {}, id: 'c' }, thoughtSignature: 'c2ln' }] } },
      ],
    },
    {
      candidates: [{ content: { parts: [{ text: '' }] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 },
    },
  ],
}

interface Mutation {
  /** Which event, which of its values, and its replacement. */
  readonly event: number
  readonly place: number
  readonly value: Json
}

const mutations: fc.Arbitrary<Mutation[]> = fc.array(
  fc.record({ event: fc.nat(20), place: fc.nat(20), value: fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json> }),
  { maxLength: 4 },
)

const attack = fc.record({
  mutations,
  /** Events that are repeated or missing. */
  order: fc.array(fc.nat(10), { maxLength: 12 }),
  cuts: fc.array(fc.nat(2_000), { maxLength: 5 }),
  junk: fc.option(anyText({ maxLength: 40 }), { nil: '' }),
  end: fc.constantFrom('end', 'break', 'done'),
})

/** Every value inside a JSON value, as a function that replaces it. */
function replaceValue(value: Json, place: number, by: Json): Json {
  let left = place
  const visit = (current: Json): Json => {
    if (left-- === 0) return by
    if (Array.isArray(current)) return current.map(visit)
    if (!isJsonObject(current)) return current
    return Object.fromEntries(Object.entries(current).map(([key, entry]) => [key, visit(entry)]))
  }
  return visit(value)
}

function send(exchange: Exchange, text: string, cuts: readonly number[]): void {
  const places = [0, ...cuts.map((cut) => cut % (text.length + 1)).toSorted((one, other) => one - other), text.length]
  for (let at = 1; at < places.length; at += 1) exchange.raw(text.slice(places[at - 1], places[at]))
}

describe.each(Object.keys(fakes) as (keyof typeof fakes)[])('a hostile server that speaks %s', (name) => {
  let fake: FakeProvider
  beforeAll(async () => {
    fake = await fakes[name]()
  })
  afterAll(() => fake.stop())

  test('[PRV49] whatever it sends is an answer or a failure with a type, and never an internal error', async () => {
    await fc.assert(
      fc.asyncProperty(attack, async ({ mutations: changes, order, cuts, junk, end }) => {
        const good = answers[name]
        const events = changes.reduce<Json[]>(
          (all, { event, place, value }) =>
            all.map((one, index) => (index === event % all.length ? replaceValue(one, place, value) : one)),
          [...good],
        )
        const sent = order.length > 6 ? order.map((index) => events[index % events.length]!) : events
        const text = sent.map((event) => {
          const type = isJsonObject(event) && typeof event['type'] === 'string' ? event['type'] : undefined
          return `${type ? `event: ${type}\n` : ''}data: ${JSON.stringify(event)}\n\n`
        })
        const outcome = askModel(fake)
        const { exchange } = await fake.nextCall()
        send(exchange, [...text, junk, end === 'done' ? '\n\ndata: [DONE]\n\n' : ''].join(''), cuts)
        if (end === 'break') exchange.cut()
        else exchange.end()
        const result = await outcome
        expect(result.outcome).not.toBe('aborted')
        if (result.outcome !== 'failure') return
        expect(result.error.type).not.toBe('INTERNAL_ERROR')
        expect(result.error.message).toMatch(/\.$/)
      }),
      { numRuns },
    )
    // The server still works.
    const outcome = askModel(fake)
    const call = await fake.nextCall()
    call.say('hi')
    call.finish()
    expect(await outcome).toMatchObject({ outcome: 'answer' })
  })
})
