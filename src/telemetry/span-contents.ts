import { textOf } from '../domain/conversations/content.ts'
import type { GivenMessage, NewMessage } from '../domain/conversations/message.ts'

/** What a client sent, in the format of the GenAI conventions. */
export function inputOf(messages: readonly GivenMessage[]): string {
  return JSON.stringify(
    messages.map(({ role, content }) => ({
      role: role.toLowerCase(),
      parts: [{ type: 'text', content: textOf(content) }],
    })),
  )
}

/** What a model wrote, in the format of the GenAI conventions. Its tool calls have spans of their own. */
export function answerOf(messages: readonly NewMessage[]): string {
  const parts = messages.flatMap(({ type, content }) => {
    if (type === 'ASSISTANT') return [{ type: 'text', content: content.text }]
    return type === 'REASONING' && !content.redacted ? [{ type: 'reasoning', content: content.text }] : []
  })
  return JSON.stringify(parts.length === 0 ? [] : [{ role: 'assistant', parts }])
}
