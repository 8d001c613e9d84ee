import { createOpenAIResponses } from '../../../src/providers/openai/openai-responses.ts'
import { secretKey, usage, type FakeCall, type FakeProvider } from './fake-model.ts'
import { startFakeServer, type Exchange } from './fake-server.ts'
import { openaiError } from './openai-errors.ts'
import { checkResponses } from './responses-check.ts'

/** A local server that speaks OpenAI's Responses API. */
export async function startFakeResponses(): Promise<FakeProvider> {
  const issued = new Set<string>()
  const server = await startFakeServer((request) => checkResponses(request, issued))
  const baseUrl = `${server.url}/v1`
  return {
    name: 'openai',
    url: server.url,
    handle: 'openai/gpt-5-mini',
    provider: createOpenAIResponses({ apiKey: secretKey, baseUrl }),
    env: { OPENAI_API_KEY: secretKey, OPENAI_BASE_URL: baseUrl },
    usage,
    nextCall: async () => openCall(await server.next(), issued),
    refused: server.refused,
    stop: server.stop,
  }
}

const counts = {
  input_tokens: usage.inputTokens,
  input_tokens_details: { cached_tokens: usage.cachedInputTokens },
  output_tokens: usage.outputTokens,
  output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  total_tokens: usage.inputTokens + usage.outputTokens,
}

function openCall(exchange: Exchange, issued: Set<string>): FakeCall {
  let sequence = 0
  let output = 0
  const send = (type: string, data: object) => exchange.send({ type, sequence_number: sequence++, ...data }, type)
  const response = (status: string, more: object = {}) => ({
    response: { id: 'resp_1', object: 'response', status, error: null, incomplete_details: null, ...more },
  })
  /** Starts before the first event, so that a request can still be refused. */
  const begin = () => {
    if (sequence > 0) return
    send('response.created', response('in_progress'))
    send('response.in_progress', response('in_progress'))
  }

  function reasoning(texts: readonly string[]): void {
    begin()
    const place = output++
    const id = `rs_${issued.size}`
    const encrypted = `enc_${issued.size}`
    issued.add(encrypted)
    const item = { id, type: 'reasoning', summary: [] as object[] }
    send('response.output_item.added', { output_index: place, item })
    for (const [index, text] of texts.entries()) {
      const at = { item_id: id, output_index: place, summary_index: index }
      send('response.reasoning_summary_part.added', { ...at, part: { type: 'summary_text', text: '' } })
      for (const delta of halves(text)) send('response.reasoning_summary_text.delta', { ...at, delta })
      send('response.reasoning_summary_text.done', { ...at, text })
    }
    const summary = texts.map((text) => ({ type: 'summary_text', text }))
    send('response.output_item.done', { output_index: place, item: { ...item, summary, encrypted_content: encrypted } })
  }

  function startFunction(name: string, callId: string) {
    begin()
    const place = output++
    const item = { id: `fc_${place}`, type: 'function_call', call_id: callId, name, arguments: '' }
    send('response.output_item.added', { output_index: place, item })
    return {
      write: (delta: string) =>
        send('response.function_call_arguments.delta', { item_id: item.id, output_index: place, delta }),
      done(text: string) {
        send('response.function_call_arguments.done', { item_id: item.id, output_index: place, arguments: text })
        send('response.output_item.done', { output_index: place, item: { ...item, arguments: text } })
      },
    }
  }

  return {
    exchange,
    body: exchange.body,
    think: (text) => reasoning(text.split('\n\n')),
    thinkInSecret: () => reasoning([]),
    say(text) {
      begin()
      const place = output++
      const item = { id: `msg_${place}`, type: 'message', role: 'assistant', phase: 'final_answer', content: [] }
      const at = { item_id: item.id, output_index: place, content_index: 0 }
      send('response.output_item.added', { output_index: place, item })
      send('response.content_part.added', { ...at, part: { type: 'output_text', text: '' } })
      for (const delta of halves(text)) send('response.output_text.delta', { ...at, delta })
      send('response.output_text.done', { ...at, text })
      send('response.output_item.done', { output_index: place, item: { ...item, status: 'completed' } })
    },
    call(name, args, { callId = `call_${output}` } = {}) {
      const text = typeof args === 'string' ? args : JSON.stringify(args)
      const call = startFunction(name, callId)
      for (const delta of halves(text)) call.write(delta)
      call.done(text)
    },
    callInterleaved(calls) {
      const started = calls.map(({ name, callId, args }) => ({ args, call: startFunction(name, callId) }))
      for (const half of [0, 1]) for (const { call, args } of started) call.write(halves(args)[half] ?? '')
      for (const { call, args } of started) call.done(args)
    },
    finish({ reason = 'end' } = {}) {
      begin()
      if (reason === 'end') send('response.completed', response('completed', { usage: counts }))
      else {
        const why = reason === 'length' ? 'max_output_tokens' : 'content_filter'
        send('response.incomplete', response('incomplete', { incomplete_details: { reason: why }, usage: counts }))
      }
      exchange.end()
    },
    refuse: (kind, headers) => exchange.refuse(openaiError(kind, headers)),
    breakWith(kind) {
      begin()
      if (kind === 'server') {
        send('response.failed', response('failed', { error: { code: 'server_error', message: 'It broke.' } }))
      } else {
        const code = kind === 'overload' ? 'overloaded_error' : 'rate_limit_exceeded'
        send('error', { code, message: 'It broke.', param: null })
      }
      exchange.end()
    },
  }
}

export function halves(text: string): string[] {
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)].filter((half) => half !== '')
}
