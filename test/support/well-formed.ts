import type { ModelRequest } from '../../src/domain/models/model-request.ts'

/** What a strict provider would refuse in a request. Undefined if there is nothing. */
export function faultOfRequest({ messages }: ModelRequest): string | undefined {
  let open: readonly string[] = []
  for (const [place, message] of messages.entries()) {
    const fault = (what: string) => `message ${place} (${message.role}): ${what}\n${JSON.stringify(messages, null, 1)}`
    if (open.length > 0 && message.role !== 'tool') return fault(`the calls ${open.join(', ')} have no returns`)
    switch (message.role) {
      case 'assistant': {
        const calls = message.parts.flatMap((part) => (part.type === 'call' ? [part.callId] : []))
        if (message.parts.length === 0) return fault('it is empty')
        if (message.parts.some((part) => part.type === 'text' && part.text === '')) return fault('it has empty text')
        if (message.parts.at(-1)!.type === 'reasoning') return fault('nothing follows its reasoning')
        if (new Set(calls).size < calls.length) return fault('two calls have one id')
        open = calls
        break
      }
      case 'tool': {
        const returned = message.returns.map((entry) => entry.callId)
        if (open.length === 0) return fault('it returns what was not called')
        if (returned.join() !== open.join()) return fault(`it returns ${returned.join()}, not ${open.join()}`)
        if (message.returns.some((entry) => entry.output === '')) return fault('it returns nothing')
        open = []
        break
      }
      case 'user':
      case 'system':
        break
      default:
        message satisfies never
    }
  }
  return messages.at(-1)?.role === 'assistant' ? 'the model would have to answer itself' : undefined
}
