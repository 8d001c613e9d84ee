import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import type { ModelPart } from '../../src/domain/models/model-request.ts'
import { aRequest, collect, itemsOf, speakers, type Speaker } from './speakers.ts'

describe.each(speakers)('$name', ({ start }) => {
  let speaker: Speaker
  beforeAll(async () => {
    speaker = await start()
  })
  afterAll(() => speaker.stop())

  test('[PRV1] reasoning, text and calls arrive as items in order, each complete, with one end', async () => {
    const parts = await collect(
      speaker.ask({
        think: 'let me see',
        say: 'here you are',
        calls: [
          { name: 'echo', args: '{"text":"one"}' },
          { name: 'echo', args: '{"text":"two"}' },
        ],
      }),
    )
    expect(itemsOf(parts).map(({ type, text, done }) => ({ type, text, done }))).toEqual([
      { type: 'reasoning', text: 'let me see', done: true },
      { type: 'text', text: 'here you are', done: true },
      { type: 'call', text: '{"text":"one"}', done: true },
      { type: 'call', text: '{"text":"two"}', done: true },
    ])
    const calls = itemsOf(parts).filter(({ type }) => type === 'call')
    expect(calls.map(({ name }) => name)).toEqual(['echo', 'echo'])
    expect(new Set(calls.map(({ callId }) => callId)).size).toBe(2)
    expect(parts.filter(({ type }) => type === 'finish' || type === 'failure')).toEqual([parts.at(-1)])
  })

  test('[PRV2] the end says why it ended and what was used', async () => {
    const end = (await collect(speaker.ask({ think: 'well', say: 'done' }))).at(-1)!
    expect(end).toMatchObject({ type: 'finish', reason: 'end' })
    const { usage } = end as Extract<ModelPart, { type: 'finish' }>
    expect(usage.inputTokens).toBeGreaterThan(0)
    expect(usage.outputTokens).toBeGreaterThan(0)
    expect(usage.reasoningTokens).toBeGreaterThan(0)
  })

  test.each([
    ['rate limit', 'LLM_RATE_LIMIT', true],
    ['authentication', 'LLM_AUTHENTICATION', false],
    ['bad request', 'LLM_BAD_REQUEST', false],
    ['context', 'LLM_CONTEXT_WINDOW', false],
    ['server', 'LLM_ERROR', true],
  ] as const)(
    '[PRV3] a failure is the last part of the stream, never an exception: %s',
    async (fail, type, retryable) => {
      const parts = await collect(speaker.ask({ fail }))
      expect(parts).toMatchObject([{ type: 'failure', error: { type, retryable } }])
    },
  )

  test('[PRV4] an abort ends the stream without a last part', async () => {
    const abort = new AbortController()
    const said: ModelPart[] = []
    for await (const part of speaker.ask({ say: 'once upon a time', stall: true }, abort.signal)) {
      said.push(part)
      if (part.type === 'text') abort.abort()
    }
    expect(said.at(-1)!.type).toBe('text')
  })

  test('[PRV4] a request that was aborted before it was sent is not sent', async () => {
    const { provider, handle } = speaker
    expect(await collect(provider.stream(aRequest(handle, 'say hello'), AbortSignal.abort()))).toEqual([])
  })

  test('[PRV5] what would be sent is plain data, and the same every time', () => {
    const { provider, handle } = speaker
    const request = aRequest(handle, 'hello')
    const body = provider.requestBody(request)
    expect(JSON.parse(JSON.stringify(body))).toEqual(body)
    expect(JSON.stringify(provider.requestBody(request))).toBe(JSON.stringify(body))
  })
})
