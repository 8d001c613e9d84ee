import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { createGemini } from '../../../src/providers/gemini/gemini.ts'
import { secretKey, usage, type FailureKind, type FakeCall, type FakeProvider } from './fake-model.ts'
import { startFakeServer, type Exchange, type Refusal } from './fake-server.ts'
import { checkGemini, geminiError } from './gemini-check.ts'
import { makeTemporaryFolder } from '../temporary-folder.ts'
import { halves } from './responses.ts'

/**
 * A local server that speaks the Gemini API. Calls arrive complete, and thoughts leave signatures on what follows them.
 */
export async function startFakeGemini(): Promise<FakeProvider> {
  const issued = new Set<string>()
  const list = (names: readonly string[]) => ({
    models: names.map((name) => ({ name: `models/${name}`, supportedGenerationMethods: ['generateContent'] })),
  })
  const server = await startFakeServer((request) => checkGemini(request, issued), list)
  // It is not built in, so a providers file names its address.
  const folder = await makeTemporaryFolder()
  const path = join(folder, 'providers.json')
  await writeFile(path, JSON.stringify({ providers: { gemini: { baseUrl: server.url } } }))
  return {
    name: 'gemini',
    url: server.url,
    handle: 'gemini/gemini-3-pro-preview',
    provider: createGemini({ apiKey: secretKey, baseUrl: server.url }),
    env: { GEMINI_API_KEY: secretKey, HOLDPOINT_PROVIDERS: path },
    usage,
    nextCall: async () => openCall(await server.next(), issued),
    refused: server.refused,
    stop: () => server.stop(),
  }
}

const failures: Record<FailureKind, Refusal> = {
  'rate limit': geminiError(429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota.'),
  authentication: geminiError(400, 'INVALID_ARGUMENT', 'API key not valid.', [{ reason: 'API_KEY_INVALID' }]),
  'bad request': geminiError(400, 'INVALID_ARGUMENT', 'Request contains an invalid argument.'),
  context: geminiError(
    400,
    'INVALID_ARGUMENT',
    'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
  ),
  overload: geminiError(503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'),
  server: geminiError(500, 'INTERNAL', 'An internal error has occurred.'),
  'unknown model': geminiError(404, 'NOT_FOUND', 'models/x is not found for API version v1beta'),
}

function openCall(exchange: Exchange, issued: Set<string>): FakeCall {
  let signed: { thoughtSignature: string } | undefined
  let calls = 0
  const send = (parts: object[], more: object = {}) =>
    exchange.send({ candidates: [{ content: { parts, role: 'model' }, index: 0, ...more }], modelVersion: 'gemini' })
  const sign = () => {
    const thoughtSignature = `c2lnXw${issued.size}`
    issued.add(thoughtSignature)
    signed = { thoughtSignature }
  }
  const call = (name: string, args: unknown, id: string) => {
    // Arguments are part of the event, and may be nested more deeply than JSON can be serialized again.
    const text = typeof args === 'string' ? args : JSON.stringify(args)
    const part = JSON.stringify({ functionCall: { name, id, args: 0 }, ...signed }).replace(
      '"args":0',
      `"args":${text}`,
    )
    exchange.raw(`data: {"candidates":[{"content":{"parts":[${part}],"role":"model"},"index":0}]}\n\n`)
    signed = undefined
    calls += 1
  }
  return {
    exchange,
    body: exchange.body,
    think(text) {
      for (const half of halves(text)) send([{ text: half, thought: true }])
      sign()
    },
    thinkInSecret: sign,
    say(text) {
      for (const half of halves(text)) send([{ text: half }])
    },
    call: (name, args, { callId = `fc_${calls}` } = {}) => call(name, args, callId),
    callInterleaved(all) {
      for (const { name, args, callId } of all) call(name, args, callId)
    },
    finish({ reason = 'end' } = {}) {
      const finishReason = { end: 'STOP', length: 'MAX_TOKENS', filter: 'SAFETY' }[reason]
      exchange.send({
        candidates: [{ content: { parts: [{ text: '', ...signed }], role: 'model' }, finishReason, index: 0 }],
        usageMetadata: {
          promptTokenCount: usage.inputTokens,
          candidatesTokenCount: usage.outputTokens - usage.reasoningTokens,
          thoughtsTokenCount: usage.reasoningTokens,
          cachedContentTokenCount: usage.cachedInputTokens,
          totalTokenCount: usage.inputTokens + usage.outputTokens,
        },
      })
      exchange.end()
    },
    refuse: (kind, headers) => exchange.refuse({ ...failures[kind], headers: { ...headers } }),
    breakWith(kind) {
      exchange.send(failures[kind].body)
      exchange.end()
    },
  }
}
