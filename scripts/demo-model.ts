import { setTimeout as sleep } from 'node:timers/promises'

import { textOf } from '../src/domain/conversations/content.ts'
import type { ModelMessage, ModelPart, ModelRequest, ModelToolReturn } from '../src/domain/models/model-request.ts'
import type { Provider } from '../src/providers/provider.ts'
import { defineTool } from '../src/tools/registry.ts'

/** How the model of the tour answers a user's message. */
interface Line {
  readonly say?: string
  readonly call?: { readonly name: string; readonly arguments: object }
  readonly afterCall?: (result: ModelToolReturn) => string
}

const sendMail = (to: string, text: string): Line => ({
  call: { name: 'send_mail', arguments: { to, text } },
  afterCall: ({ failed, output }) => {
    if (!failed) return `Done: ${output}`
    const reason = /Reason: (.*)/.exec(output)?.[1]
    return `All right, I will not send it.${reason ? ` You said: ${reason}` : ''}`
  },
})

/** What the user says in the tour, and how the model answers. */
export const lines = {
  'Good morning, Ada.': {
    say: 'Good morning! I am Ada, an agent. This text reaches you\nwhile it is being written, a few letters at a time.',
  },
  'Tell Grace that the report is ready.': sendMail('grace@example.com', 'The report is ready.'),
  'Ask everyone about lunch.': sendMail('everyone@example.com', 'Lunch?'),
  'Ask Grace for the numbers.': sendMail('grace@example.com', 'pls send teh numbers'),
  'What is in my clipboard?': {
    call: { name: 'read_clipboard', arguments: {} },
    afterCall: ({ output }) => `Your clipboard holds ${output}.`,
  },
  'Tell me a story.': {
    say: 'Once upon a time there was a server that told very long\nstories to whoever would listen, and none of them had an\nend, for the server had all the time in the world.',
  },
  'What happens if my train enters a tunnel?': {
    say: 'Your connection breaks, and I keep writing. When you are\nback, you get exactly the letters that you have missed,\nuninterruptedly, even from the middle of a word.',
  },
  'And if your worker process is killed?': {
    say: 'Then another worker process takes over my run. It finds\nall that was stored, starts the unfinished step again and\nkeeps writing. You would not even notice.',
  },
} as const satisfies Record<string, Line>

export type UserLine = keyof typeof lines

/** Needs no key and no network, and writes a few letters at a time, as real models do. */
export const tourProvider: Provider = {
  name: 'tour',
  models: () => [{ handle: 'tour/ada', provider: 'tour', contextWindow: 32_000, capabilities: ['TOOLS'] }],
  requestBody: ({ model }) => ({ model }),
  stream,
}

const piece = /[^]{1,3}/g
const pieceMs = 40

async function* stream({ messages }: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelPart, void> {
  const { say, call } = answerTo(messages)
  for (const text of say?.match(piece) ?? []) {
    await sleep(pieceMs, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
    yield { type: 'text', item: 'text', text }
  }
  if (say) yield { type: 'done', item: 'text' }
  if (call) {
    yield { type: 'call', item: 'call', callId: `call_${messages.length}`, name: call.name }
    yield { type: 'arguments', item: 'call', text: JSON.stringify(call.arguments) }
    yield { type: 'done', item: 'call' }
  }
  const usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0 }
  yield { type: 'finish', reason: 'end', usage }
}

function answerTo(messages: readonly ModelMessage[]): Line {
  const last = messages.findLast(({ role }) => role !== 'system')
  const asked = messages.findLast((message) => message.role === 'user')
  const line: Line = lines[textOf(asked?.content ?? []) as UserLine]
  return last?.role === 'tool' ? { say: line.afterCall!(last.returns[0]!) } : line
}

export const tourTools = [
  defineTool({
    name: 'send_mail',
    description: 'Sends a mail.',
    parameters: {
      type: 'object',
      properties: { to: { type: 'string' }, text: { type: 'string' } },
      required: ['to', 'text'],
      additionalProperties: false,
    },
    run: ({ to, text }) => `sent "${text}" to ${to}`,
  }),
]
