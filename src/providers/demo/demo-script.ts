import type { ModelContent } from '../../domain/context/model-content.ts'
import type { ModelMessage } from '../../domain/models/model-request.ts'
import { textOf } from '../../domain/conversations/content.ts'

export const demoFailures = [
  'timeout',
  'rate_limit',
  'authentication',
  'bad_request',
  'context_window',
  'error',
] as const
export type DemoFailure = (typeof demoFailures)[number]

/** What the scripted model does in one answer, in this order. */
export interface DemoScript {
  readonly slowMs: number
  readonly reasoning: string
  readonly text: string
  readonly failure: DemoFailure | null
  readonly calls: readonly { readonly name: string; readonly argumentsText: string }[]
}

/**
 * Reads the script from the last user message, line by line. The rest of the message is answered with a sentence that
 * repeats it. A script is followed once: after tool returns, the model says what each tool returned, and it only
 * acknowledges what the server says after that.
 */
export function readScript(messages: readonly ModelMessage[]): DemoScript {
  const last = messages.findLastIndex(({ role }) => role !== 'system')
  const lastUser = messages.findLast((message) => message.role === 'user')
  const script = lastUser ? scriptOf(lastUser.content) : scriptOf([])
  const text = answerAfter(messages[last], messages.slice(last + 1))
  return text === undefined ? script : { slowMs: script.slowMs, reasoning: '', text, failure: null, calls: [] }
}

/** What to say if the script of the last user message has already been followed. */
function answerAfter(last: ModelMessage | undefined, told: readonly ModelMessage[]): string | undefined {
  if (last?.role === 'tool') {
    return last.returns
      .map(({ name, failed, output, content }) => {
        return `${name} ${failed ? 'failed' : 'returned'}: ${content ? textOf(content) : output}`
      })
      .join('\n')
  }
  const notes = told.flatMap((message) => (message.role === 'system' ? [message.text] : []))
  return last?.role === 'assistant' && notes.length > 0 ? `Noted: ${notes.join('\n')}` : undefined
}

/** Descriptions of content that the model cannot read are repeated too, but are not part of the script. */
function scriptOf(content: readonly ModelContent[]): DemoScript {
  const isDescription = (part: ModelContent) => 'describes' in part
  const message = textOf(content.filter((part) => !isDescription(part)))
  const descriptions = textOf(content.filter(isDescription))
  const said: string[] = []
  const thought: string[] = []
  const rest: string[] = []
  const calls: { name: string; argumentsText: string }[] = []
  let slowMs = 0
  let failure: DemoFailure | null = null

  for (const line of message.split('\n')) {
    // With the flag `s`, the rest of the line always matches: no attempt fails after many blanks.
    const [, command = '', argument = ''] = /^\s*(call|think|say|slow|fail)\s+(.*)$/s.exec(line) ?? []
    const kind = demoFailures.find((name) => name === argument.trim())
    const [, name, argumentsText] = /^([\w-]+)\s*(.*)$/s.exec(argument) ?? []
    if (command === 'say') said.push(argument)
    else if (command === 'think') thought.push(argument)
    else if (command === 'slow' && /^\d+$/.test(argument.trim())) slowMs = Number(argument)
    else if (command === 'fail' && kind) failure = kind
    else if (command === 'fail')
      said.push(`There is no failure "${argument.trim()}". Use one of: ${demoFailures.join(', ')}.`)
    else if (command === 'call' && name) calls.push({ name, argumentsText: argumentsText || '{}' })
    else rest.push(line)
  }

  const scripted = said.length + thought.length + calls.length > 0 || failure !== null
  const unscripted = [...rest, ...(scripted ? [] : [descriptions])].join('\n').trim()
  if (unscripted !== '' || !scripted) said.push(`You said: ${unscripted}`)
  return { slowMs, reasoning: thought.join('\n'), text: said.join('\n'), failure, calls }
}
