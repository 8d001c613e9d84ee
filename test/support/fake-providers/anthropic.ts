import { createAnthropic } from '../../../src/providers/anthropic/anthropic.ts'
import { checkAnthropic, prefixOf } from './anthropic-check.ts'
import { anthropicError, anthropicErrorEvent } from './anthropic-errors.ts'
import { secretKey, usage, type FakeCall, type FakeProvider } from './fake-model.ts'
import { startFakeServer, type Exchange } from './fake-server.ts'
import { halves } from './responses.ts'

export interface Issued {
  readonly signatures: Map<string, { readonly model: string; readonly prefix: string }>
  readonly redacted: Set<string>
}

/** A local server that speaks Anthropic's Messages API. */
export async function startFakeAnthropic(): Promise<FakeProvider> {
  const issued: Issued = { signatures: new Map(), redacted: new Set() }
  const server = await startFakeServer((request) => checkAnthropic(request, issued))
  return {
    name: 'anthropic',
    url: server.url,
    handle: 'anthropic/claude-opus-5-5',
    provider: createAnthropic({ apiKey: secretKey, baseUrl: server.url }),
    env: { ANTHROPIC_API_KEY: secretKey, ANTHROPIC_BASE_URL: server.url },
    usage: messagesUsage,
    nextCall: async () => openMessagesCall(await server.next(), issued),
    refused: server.refused,
    stop: server.stop,
  }
}

const inputCounts = {
  input_tokens: usage.inputTokens - usage.cachedInputTokens - 10,
  cache_creation_input_tokens: 10,
  cache_read_input_tokens: usage.cachedInputTokens,
}

export const messagesUsage = { ...usage, cacheWriteTokens: inputCounts.cache_creation_input_tokens }

/** One request to a model that speaks Messages. */
export function openMessagesCall(exchange: Exchange, issued: Issued): FakeCall {
  let blocks = 0
  let begun = false
  let called = false
  const send = (type: string, data: object = {}) => exchange.send({ type, ...data }, type)
  const begin = () => {
    if (begun) return
    begun = true
    const message = { id: 'msg_1', type: 'message', role: 'assistant', content: [], stop_reason: null }
    send('message_start', { message: { ...message, usage: { ...inputCounts, output_tokens: 1 } } })
    send('ping')
  }
  const start = (block: object) => {
    begin()
    const index = blocks++
    send('content_block_start', { index, content_block: block })
    return {
      delta: (delta: object) => send('content_block_delta', { index, delta }),
      stop: () => send('content_block_stop', { index }),
    }
  }
  const startCall = (name: string, id: string) => {
    called = true
    const block = start({ type: 'tool_use', id, name, input: {} })
    return { ...block, write: (text: string) => block.delta({ type: 'input_json_delta', partial_json: text }) }
  }

  return {
    exchange,
    body: exchange.body,
    think(text) {
      const signature = `sig_${issued.signatures.size}`
      const prefix = prefixOf(exchange.body, exchange.body.messages.length)
      issued.signatures.set(signature, { model: exchange.body.model, prefix })
      const block = start({ type: 'thinking', thinking: '', signature: '' })
      for (const thinking of halves(text)) block.delta({ type: 'thinking_delta', thinking })
      for (const piece of halves(signature)) block.delta({ type: 'signature_delta', signature: piece })
      block.stop()
    },
    thinkInSecret() {
      const data = `redacted_${issued.redacted.size}`
      issued.redacted.add(data)
      start({ type: 'redacted_thinking', data }).stop()
    },
    say(text) {
      const block = start({ type: 'text', text: '' })
      for (const half of halves(text)) block.delta({ type: 'text_delta', text: half })
      block.stop()
    },
    call(name, args, { callId = `toolu_${blocks}` } = {}) {
      const block = startCall(name, callId)
      for (const half of halves(typeof args === 'string' ? args : JSON.stringify(args))) block.write(half)
      block.stop()
    },
    callInterleaved(calls) {
      const started = calls.map(({ name, callId, args }) => ({ args, block: startCall(name, callId) }))
      for (const half of [0, 1]) for (const { block, args } of started) block.write(halves(args)[half] ?? '')
      for (const { block } of started) block.stop()
    },
    finish({ reason = 'end' } = {}) {
      begin()
      const stopReason = { end: called ? 'tool_use' : 'end_turn', length: 'max_tokens', filter: 'refusal' }[reason]
      const details = reason === 'filter' && { stop_details: { type: 'refusal', category: 'cyber', explanation: null } }
      send('message_delta', {
        delta: { stop_reason: stopReason, stop_sequence: null, ...details },
        usage: { output_tokens: usage.outputTokens, output_tokens_details: { thinking_tokens: usage.reasoningTokens } },
      })
      send('message_stop')
      exchange.end()
    },
    refuse: (kind, headers) => exchange.refuse(anthropicError(kind, headers)),
    breakWith(kind) {
      begin()
      exchange.send(anthropicErrorEvent(kind), 'error')
      exchange.end()
    },
  }
}
