import { setTimeout as sleep } from 'node:timers/promises'

import type { ModelPart, ModelRequest } from '../../domain/models/model-request.ts'
import type { RunError } from '../../domain/runs/run.ts'
import type { JsonObject } from '../../util/json.ts'
import { failures } from '../errors.ts'
import { readScript, type DemoFailure } from './demo-script.ts'
import { demoEmbeddings } from './demo-embedding.ts'
import type { Provider } from '../provider.ts'

const handle = 'demo/scripted'

/** A model that needs no key and no network, for newcomers and tests. */
export const demoProvider: Provider = {
  name: 'demo',
  models: () => [{ handle, provider: 'demo', contextWindow: 32_000, capabilities: ['TOOLS', 'REASONING'] }],
  // Nothing is sent anywhere. This is what the script is read from.
  requestBody,
  stream: streamScript,
  embeddings: demoEmbeddings,
  priceOf: () => ({ input: 0, output: 0, cachedInput: 0, cacheWrite: 0 }),
}

function requestBody({ model, systemPrompt, messages, tools }: ModelRequest): JsonObject {
  return { model, systemPrompt, messages, tools } as unknown as JsonObject
}

async function* streamScript(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelPart, void> {
  const script = readScript(request.messages)
  request.exchange?.sent(request.model, requestBody(request))
  const mostTokens = request.settings.maxOutputTokens ?? Infinity
  let outputTokens = 0
  let isCut = false

  /** Waits before each token, and returns whether to continue. */
  async function pace(): Promise<boolean> {
    isCut = outputTokens >= mostTokens
    if (isCut) return false
    outputTokens += 1
    if (script.slowMs > 0) await sleep(script.slowMs, undefined, { signal }).catch(() => undefined)
    return !signal.aborted
  }

  async function* speak(): AsyncGenerator<ModelPart, void> {
    for (const [type, text] of [['reasoning', script.reasoning] as const, ['text', script.text] as const]) {
      for (const token of tokensOf(text)) {
        if (!(await pace())) return
        yield { type, item: type, text: token }
      }
      if (text !== '') yield { type: 'done', item: type }
    }
    if (script.failure) return
    for (const [index, call] of script.calls.entries()) {
      const item = `call ${index}`
      if (!(await pace())) return
      yield { type: 'call', item, callId: `demo_call_${request.messages.length}_${index}`, name: call.name }
      for (const token of tokensOf(call.argumentsText)) {
        if (!(await pace())) return
        yield { type: 'arguments', item, text: token }
      }
      yield { type: 'done', item }
    }
  }

  yield* speak()
  if (signal.aborted) return
  if (script.failure && !isCut) {
    yield { type: 'failure', error: failureOf(script.failure) }
    return
  }
  const inputTokens = Math.ceil((request.systemPrompt.length + JSON.stringify(request.messages).length) / 4)
  const reasoningTokens = Math.min(tokensOf(script.reasoning).length, outputTokens)
  const usage = { inputTokens, outputTokens, cachedInputTokens: 0, reasoningTokens }
  request.exchange?.received({ ...script, usage })
  yield { type: 'finish', reason: isCut ? 'length' : 'end', usage }
}

/** Words with the white space before them. Joined, they give the text again. */
function tokensOf(text: string): string[] {
  return text.match(/\s*\S+|\s+/g) ?? []
}

const kinds = {
  timeout: 'timeout',
  rate_limit: 'rate limit',
  authentication: 'authentication',
  bad_request: 'bad request',
  context_window: 'context',
  error: 'server',
} as const satisfies Record<DemoFailure, string>

function failureOf(kind: DemoFailure): RunError {
  return { ...failures[kinds[kind]], detail: `The script said: fail ${kind}` }
}
