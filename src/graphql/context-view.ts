import type { Message as DomainMessage } from '../domain/message.ts'
import type { Json } from '../util/json.ts'
import { builder } from './builder.ts'
import { Message } from './run-refs.ts'

interface ContextTokensView {
  readonly window: number
  readonly total: number
  readonly instructions: number
  readonly blocks: number
  readonly tools: number
  readonly summary: number
  readonly messages: number
}

const ContextTokens = builder.objectRef<ContextTokensView>('ContextTokens')
ContextTokens.implement({
  description: 'What the parts of a context weigh, in tokens.',
  fields: (t) => ({
    window: t.exposeInt('window', { description: 'The most it may weigh.' }),
    total: t.exposeInt('total', { description: 'All of it.' }),
    instructions: t.exposeInt('instructions', { description: 'The instructions.' }),
    blocks: t.exposeInt('blocks', { description: 'The memory blocks.' }),
    tools: t.exposeInt('tools', { description: 'The descriptions of the tools.' }),
    summary: t.exposeInt('summary', { description: 'The summary of what was compacted.' }),
    messages: t.exposeInt('messages', { description: 'The other messages.' }),
  }),
})

interface ContextView {
  readonly systemPrompt: string
  readonly messages: readonly DomainMessage[]
  readonly tokens: ContextTokensView
  readonly request: Json
}

export const ContextType = builder.objectRef<ContextView>('Context')
ContextType.implement({
  description: 'What the model would be sent now, and what it weighs.',
  fields: (t) => ({
    systemPrompt: t.exposeString('systemPrompt', {
      description: 'The instructions, compiled with memory blocks and metadata.',
    }),
    messages: t.field({
      type: [Message],
      description: 'In the order the model sees them. Always a well-formed exchange: every tool call has its return.',
      resolve: (context) => [...context.messages],
    }),
    tokens: t.expose('tokens', { type: ContextTokens, description: 'What it weighs.' }),
    request: t.expose('request', {
      type: 'JSON',
      description: 'The request as it would be sent to the provider now (a dry run: nothing is called or stored).',
    }),
  }),
})
