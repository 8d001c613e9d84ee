import type { ModelMessage } from '../domain/model-request.ts'
import { textOf } from '../domain/message.ts'

export const demoFailures = [
  'timeout',
  'rate_limit',
  'authentication',
  'bad_request',
  'context_window',
  'error',
] as const
export type DemoFailure = (typeof demoFailures)[number]

/** What the scripted model is to do for one answer, in this order. */
export interface DemoScript {
  readonly slowMs: number
  readonly reasoning: string
  readonly text: string
  readonly failure: DemoFailure | null
  readonly calls: readonly { readonly name: string; readonly argumentsText: string }[]
}

/**
 * Reads the script out of the last user message, line by line; the rest of the message is answered with a sentence
 * that repeats it. After tool returns the model says what each tool returned, as slowly as it was told to speak.
 */
export function readScript(messages: readonly ModelMessage[]): DemoScript {
  const last = messages.at(-1)
  const lastUser = messages.findLast((message) => message.role === 'user')
  const script = lastUser ? scriptOf(textOf(lastUser.content)) : scriptOf('')
  if (last?.role !== 'tool') return script
  const text = last.returns
    .map(({ name, failed, output }) => `${name} ${failed ? 'failed' : 'returned'}: ${output}`)
    .join('\n')
  return { slowMs: script.slowMs, reasoning: '', text, failure: null, calls: [] }
}

function scriptOf(message: string): DemoScript {
  const said: string[] = []
  const thought: string[] = []
  const rest: string[] = []
  const calls: { name: string; argumentsText: string }[] = []
  let slowMs = 0
  let failure: DemoFailure | null = null

  for (const line of message.split('\n')) {
    const [, command = '', argument = ''] = /^\s*(call|think|say|slow|fail)\s+(.*)$/.exec(line) ?? []
    const kind = demoFailures.find((name) => name === argument.trim())
    const call = /^([\w-]+)\s*(.*)$/.exec(argument)
    if (command === 'say') said.push(argument)
    else if (command === 'think') thought.push(argument)
    else if (command === 'slow' && /^\d+$/.test(argument.trim())) slowMs = Number(argument)
    else if (command === 'fail' && kind) failure = kind
    else if (command === 'call' && call) calls.push({ name: call[1]!, argumentsText: call[2] || '{}' })
    else rest.push(line)
  }

  const unscripted = rest.join('\n').trim()
  const scripted = said.length + thought.length + calls.length > 0 || failure !== null
  if (unscripted !== '' || !scripted) said.push(`You said: ${unscripted}`)
  return { slowMs, reasoning: thought.join('\n'), text: said.join('\n'), failure, calls }
}
