import { buildModelRequest } from '../../domain/context/build-model-request.ts'
import { withoutOpenCalls } from '../../domain/context/compaction.ts'
import { toModelMessages } from '../../domain/context/context.ts'
import { compileSystemPrompt } from '../../domain/context/prompt.ts'
import { describeUnreadable, withFileContent } from '../../domain/context/readable-request.ts'
import { weighMessages, weighRequest } from '../../domain/context/request-weight.ts'
import type { Message as DomainMessage } from '../../domain/conversations/message.ts'
import { HoldpointError, notFound } from '../../domain/errors.ts'
import { encodeId } from '../../domain/ids.ts'
import { contextWindowOf } from '../../domain/models/model.ts'
import { loadContextSnapshot } from '../../store/context/context-snapshot.ts'
import type { Json } from '../../util/json.ts'
import { countTokens } from '../../util/tokens.ts'
import { builder } from '../builder.ts'
import type { Context } from '../context.ts'
import { implement, int, json, of, string } from '../fields.ts'
import { Message } from '../refs.ts'

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
implement(ContextTokens, {
  description: 'Estimated size of a context, in tokens.',
  fields: () => ({
    window: int('Maximum size of the context.'),
    total: int('Sum of all parts.'),
    instructions: int('Size of the instructions.'),
    blocks: int('Size of the memory blocks.'),
    tools: int('Size of the tool descriptions.'),
    summary: int('Size of the current summary. 0 if there is none.'),
    messages: int('Size of all other messages.'),
  }),
})

interface ContextView {
  readonly systemPrompt: string
  readonly messages: readonly DomainMessage[]
  readonly tokens: ContextTokensView
  readonly request: Json
}

export const ContextType = builder.objectRef<ContextView>('Context')
implement(ContextType, {
  description: 'What the model would be sent if it were called now.',
  fields: () => ({
    systemPrompt: string('Instructions, compiled with memory blocks and metadata.'),
    messages: of([Message])(
      'Messages in the order in which the model sees them. Every tool call is followed by its return.',
    ),
    tokens: of(ContextTokens)('Estimated size of the context.'),
    request: json(
      'Request that would be sent to the provider, without secrets. Building it calls nothing and stores nothing.',
    ),
  }),
})

/** Replaces the content of files, which can be large. */
const elided = () => 'Y29udGVudCBvZiB0aGUgZmlsZQ=='

/** Made from what is stored by the same functions that the engine uses, so it cannot differ from what is sent. */
export async function viewContext(context: Context, conversationId: string): Promise<ContextView> {
  const snapshot = await loadContextSnapshot(context.db, context.viewer, conversationId)
  if (!snapshot) throw notFound('conversation', encodeId('Conversation', conversationId))
  const { state, blocks } = snapshot
  // A step whose calls have no return yet is not sent to a model.
  const messages = withoutOpenCalls(snapshot.messages)
  const window = contextWindowOf(state.agent, context.models)
  const now = context.clock.now()
  const request = buildModelRequest(state, blocks, messages, { window, now })
  const capabilities = context.models.capabilitiesOf(request.model)
  const readable = describeUnreadable(request, capabilities)
  const body = context.models.requestBody(withFileContent(readable, elided))
  if (!body) throw new HoldpointError('UNAVAILABLE', `This server cannot reach the model ${request.model} now.`)

  const weight = weighRequest(readable)
  const instructions = countTokens(compileSystemPrompt(state.agent, [], now))
  const summary = weighMessages(toModelMessages(messages.filter(({ message }) => message.type === 'SUMMARY')))
  return {
    systemPrompt: request.systemPrompt,
    messages: messages.map(({ message }) => message),
    tokens: {
      window,
      total: weight.total,
      instructions,
      blocks: weight.systemPrompt - instructions,
      tools: weight.tools,
      summary,
      messages: weight.messages - summary,
    },
    request: body,
  }
}
