import { once } from 'node:events'
import { gzipSync } from 'node:zlib'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { answerLimits, AnswerMeter } from '../../../src/domain/models/answer-limits.ts'
import type { ModelOutcome } from '../../../src/engine/call-model.ts'
import { sdkOptions } from '../../../src/providers/access.ts'
import { ResponseTooLargeError } from '../../../src/providers/response-limits.ts'
import type { FakeCall, FakeProvider } from '../../support/fake-providers/fake-model.ts'
import { startFakeServer, type Exchange } from '../../support/fake-providers/fake-server.ts'
import { fakes } from '../../providers/speakers.ts'
import { askModel } from './ask-model.ts'

interface Head {
  readonly status?: number
  readonly headers?: object
}

/** Writes as long as the client reads, and no faster. Returns when the client has disconnected. */
async function writeEndlessly({ response }: Exchange, chunk: string | Buffer, head: Head = {}): Promise<void> {
  const { status = 200, headers } = head
  response.on('error', () => undefined)
  response.writeHead(status, { 'content-type': 'text/event-stream', ...headers })
  const closed = once(response, 'close')
  while (!response.destroyed) {
    if (response.write(chunk)) continue
    const drained = new AbortController()
    await Promise.race([once(response, 'drain', drained), closed])
    drained.abort()
  }
}

/** A letter that is repeated as often would take seconds to count in tokens. */
const words = 'word '.repeat(20_000)

const tooLarge = (message: RegExp) => ({
  outcome: 'failure',
  stopReason: 'INVALID_LLM_RESPONSE',
  error: { type: 'LLM_ERROR', retryable: true, message: expect.stringMatching(message) },
})

/** A megabyte of events, in a kilobyte on the wire. A gzip file may have several members. */
const member = gzipSync(`: ${'x'.repeat(262_140)}\n\n`.repeat(4))

type Speak = (call: FakeCall) => unknown

async function answerOf(
  fake: FakeProvider,
  speak: Speak,
  options?: { readonly idleMs: number },
): Promise<ModelOutcome> {
  const outcome = askModel(fake, options)
  const call = await fake.nextCall()
  const [result] = await Promise.all([outcome, speak(call)])
  return result
}

/** An event without content, as each format writes it. */
const emptyChunks = {
  openai: 'event: response.in_progress\ndata: {"type":"response.in_progress","response":{}}\n\n',
  'openai-chat': 'data: {"choices":[{"index":0,"delta":{},"finish_reason":null}]}\n\n',
  anthropic: 'event: message_delta\ndata: {"type":"message_delta","delta":{},"usage":{}}\n\n',
  gemini: 'data: {"candidates":[{"content":{"role":"model"},"index":0}]}\n\n',
}

describe.each(Object.entries(fakes))('limits on an answer of %s', (name, start) => {
  let fake: FakeProvider
  beforeAll(async () => {
    fake = await start()
  })
  afterAll(() => fake.stop())

  const answer = (speak: Speak, options?: { readonly idleMs: number }) => answerOf(fake, speak, options)

  test('[PRV35] text and reasoning that do not end are stopped together, and the error says which limit', async () => {
    const outcome = await answer((call) => {
      for (let said = 0; said <= answerLimits.textCharacters; said += 2 * words.length) {
        call.think(words)
        call.say(words)
      }
    })
    expect(outcome).toMatchObject(tooLarge(/more than 2,000,000 characters of text and reasoning/))
  })

  test('[PRV35] a thousand calls are an answer, one more is not', async () => {
    const calls = (call: FakeCall, count: number) => {
      for (let made = 0; made < count; made += 1) call.call('echo', '{}')
      call.finish()
    }
    const outcome = await answer((call) => calls(call, answerLimits.calls))
    expect(outcome).toMatchObject({ outcome: 'answer' })
    expect(outcome.outcome === 'answer' && outcome.answer.items).toHaveLength(answerLimits.calls)
    expect(await answer((call) => calls(call, answerLimits.calls + 1))).toMatchObject(tooLarge(/1,000 tool calls/))
  })

  test('[PRV35] arguments, names and ids that are too long are stopped', async () => {
    const long = JSON.stringify({ text: 'x'.repeat(answerLimits.argumentCharacters) })
    expect(await answer((call) => call.call('echo', long))).toMatchObject(tooLarge(/characters of tool arguments/))
    const longName = 'e'.repeat(answerLimits.nameCharacters + 1)
    expect(await answer((call) => call.call(longName, '{}'))).toMatchObject(tooLarge(/name has more than 500 /))
    const callId = 'i'.repeat(answerLimits.idCharacters + 1)
    expect(await answer((call) => call.call('echo', '{}', { callId }))).toMatchObject(
      tooLarge(/id has more than 1,000 /),
    )
  })

  test('[PRV36] a line that does not end is cut off', async () => {
    const outcome = await answer(({ exchange }) => writeEndlessly(exchange, 'x'.repeat(1_000_000)))
    expect(outcome).toMatchObject(tooLarge(/response is too large/))
    expect(outcome).toMatchObject({ error: { detail: 'The limit for an event is 16 MB.' } })
  })

  test('[PRV36] an error response is cut off', async () => {
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
    const outcome = await answer(({ exchange }) => writeEndlessly(exchange, member, { status: 400, headers }))
    // Gemini's SDK reads the whole body before it reports the refusal.
    expect(outcome).toMatchObject({ error: { type: name === 'gemini' ? 'LLM_ERROR' : 'LLM_BAD_REQUEST' } })
    expect(JSON.stringify(outcome).length).toBeLessThan(2_000)
  })

  const event = emptyChunks[name as keyof typeof emptyChunks]

  test('[PRV37] chunks without content end the step, however slowly they come', async () => {
    const slow = await answer(
      async ({ exchange }) => {
        const timer = setInterval(() => exchange.raw(event), 20)
        await exchange.closed
        clearInterval(timer)
      },
      // Many times the interval: on a busy machine, nothing at all may arrive for a while.
      { idleMs: 800 },
    )
    expect(slow).toMatchObject({
      outcome: 'failure',
      stopReason: 'LLM_API_ERROR',
      error: { type: 'LLM_TIMEOUT', detail: 'Only chunks without content arrived for 2400 ms.', retryable: true },
    })
  })
})

test('[PRV35] an answer that takes hours, or consists of thousands of pieces, is stopped', () => {
  let now = 0
  const slow = new AnswerMeter(() => now)
  expect(slow.excessOf({ type: 'text', item: 'a', text: 'x' })).toBeUndefined()
  now = answerLimits.minutes * 60_000 + 1
  expect(slow.excessOf({ type: 'text', item: 'a', text: 'x' })).toBe('it took more than 360 minutes')
  const many = new AnswerMeter(() => 0)
  const excess = Array.from({ length: answerLimits.items + 1 }, (_, item) =>
    many.excessOf({ type: 'text', item: `${item}`, text: 'x' }),
  )
  expect(excess.at(-2)).toBeUndefined()
  expect(excess.at(-1)).toMatch(/^it has more than 5,000 pieces/)
})

// Fifty thousand take a second. What is not content has been tested with all adapters, and they count in one place.
test('[PRV37] chunks without content end the step, however many come', async () => {
  const fake = await fakes['openai-chat']()
  const outcome = await answerOf(fake, ({ exchange }) =>
    writeEndlessly(exchange, emptyChunks['openai-chat'].repeat(100)),
  )
  expect(outcome).toMatchObject(tooLarge(/more than 50,000 chunks in a row without content/))
  await fake.stop()
})

/** Reads an endless response as all adapters do, by the `fetch` that they share, and returns what ended it. */
async function readEndlessly(chunk: string | Buffer, head?: Head): Promise<{ error: unknown; megabytes: number }> {
  const server = await startFakeServer(() => undefined)
  const asked = sdkOptions.fetch(server.url, { method: 'POST', body: '{}' })
  const written = writeEndlessly(await server.next(), chunk, head)
  const { body } = await asked
  let bytes = 0
  const reading = async () => {
    for await (const part of body!) bytes += part.length
  }
  const error = await reading().catch((reason: unknown) => reason)
  await written
  await server.stop()
  return { error, megabytes: bytes / 1024 ** 2 }
}

// What the adapters make of the error is tested above.
test('[PRV36] an event of lines that do not end is cut off', async () => {
  const { error } = await readEndlessly(`data: ${'x'.repeat(100_000)}\r\n`)
  expect(error).toBeInstanceOf(ResponseTooLargeError)
  expect(error).toMatchObject({ message: 'The limit for an event is 16 MB.' })
})

test('[PRV36] a compressed response is cut off by its decompressed size', async () => {
  const { error, megabytes } = await readEndlessly(member, { headers: { 'content-encoding': 'gzip' } })
  expect(error).toBeInstanceOf(ResponseTooLargeError)
  expect(error).toMatchObject({ message: 'The limit for a response is 128 MB.' })
  expect(megabytes).toBeGreaterThan(127)
  expect(megabytes).toBeLessThanOrEqual(128)
})
