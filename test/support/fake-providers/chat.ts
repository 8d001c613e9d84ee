import { createOpenAIChat } from '../../../src/providers/openai/openai-chat.ts'
import { checkChat } from './chat-check.ts'
import { secretKey, usage, type FakeCall, type FakeProvider } from './fake-model.ts'
import { startFakeServer, type Exchange } from './fake-server.ts'
import { openaiError } from './openai-errors.ts'
import { halves } from './responses.ts'

/** A local server that speaks Chat Completions, with the reasoning field that compatible servers have. */
export async function startFakeChat(): Promise<FakeProvider> {
  const server = await startFakeServer(checkChat)
  const baseUrl = `${server.url}/v1`
  return {
    name: 'openai-chat',
    url: server.url,
    handle: 'openai-chat/local-model',
    provider: createOpenAIChat({ apiKey: secretKey, baseUrl }),
    env: { OPENAI_CHAT_API_KEY: secretKey, OPENAI_CHAT_BASE_URL: baseUrl },
    usage,
    nextCall: async () => openCall(await server.next()),
    refused: server.refused,
    stop: server.stop,
  }
}

function openCall(exchange: Exchange): FakeCall {
  let calls = 0
  let begun = false
  let thought = false
  const chunk = (choices: object[], more: object = {}) =>
    exchange.send({ id: 'c_1', object: 'chat.completion.chunk', created: 1, model: 'local-model', choices, ...more })
  const delta = (value: object, finish: string | null = null) => {
    if (!begun) {
      begun = true
      chunk([{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }])
    }
    chunk([{ index: 0, delta: value, finish_reason: finish }])
  }
  const begin = (index: number, name: string, id: string) =>
    delta({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] })
  const write = (index: number, text: string) => delta({ tool_calls: [{ index, function: { arguments: text } }] })
  const newId = () => `${thought ? 'thought' : 'call'}_${calls}`

  return {
    exchange,
    body: exchange.body,
    think(text) {
      thought = true
      for (const half of halves(text)) delta({ reasoning_content: half })
    },
    thinkInSecret() {},
    say(text) {
      for (const half of halves(text)) delta({ content: half })
    },
    call(name, args, { callId = newId() } = {}) {
      begin(calls, name, callId)
      for (const half of halves(typeof args === 'string' ? args : JSON.stringify(args))) write(calls, half)
      calls += 1
    },
    callInterleaved(all) {
      for (const [index, { name, callId }] of all.entries()) begin(index, name, callId)
      for (const half of [0, 1]) for (const [index, { args }] of all.entries()) write(index, halves(args)[half] ?? '')
      calls += all.length
    },
    finish({ reason = 'end' } = {}) {
      delta(
        {},
        reason === 'length' ? 'length' : reason === 'filter' ? 'content_filter' : calls > 0 ? 'tool_calls' : 'stop',
      )
      chunk([], {
        usage: {
          prompt_tokens: usage.inputTokens,
          completion_tokens: usage.outputTokens,
          total_tokens: usage.inputTokens + usage.outputTokens,
          prompt_tokens_details: { cached_tokens: usage.cachedInputTokens },
          completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
        },
      })
      exchange.raw('data: [DONE]\n\n')
      exchange.end()
    },
    refuse: (kind, headers) => exchange.refuse(openaiError(kind, headers)),
    breakWith(kind) {
      const type = { overload: 'overloaded_error', server: 'server_error', 'rate limit': 'rate_limit_exceeded' }[kind]
      exchange.send({ error: { message: 'It broke.', type, code: null } })
      exchange.end()
    },
  }
}
