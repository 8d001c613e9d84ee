import type {
  ChatCompletionAssistantMessageParam,
  ChatCompletionContentPart,
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions/completions'

import type { ModelContent } from '../../domain/context/model-content.ts'
import type {
  AssistantPart,
  ModelMessage,
  ModelRequest,
  ModelToolReturn,
  ToolChoice,
} from '../../domain/models/model-request.ts'
import { alongList } from '../../util/along-list.ts'
import { modelName } from '../models.ts'
import { effortOf, isOpenaiModel, isReasoningModel, takesParallelSwitch } from './openai-model.ts'
import { ownData } from '../reasoning.ts'
import { isStrictSchema } from './strict-schema.ts'
import {
  argumentsText,
  fileName,
  isObjectSchema,
  mediaUrl,
  promptWithSchema,
  returnContent,
  returnedMedia,
  returnText,
  withWireIds,
} from '../wire.ts'

/** Sends only the settings that were set, because a compatible server may not know the others. */
export function chatBody(request: ModelRequest): ChatCompletionCreateParamsStreaming {
  const { settings, tools } = request
  const model = modelName(request.model)
  const reasons = isReasoningModel(model)
  const schema = isObjectSchema(settings.responseSchema) ? settings.responseSchema : null
  return {
    model,
    stream: true,
    stream_options: { include_usage: true },
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, parameters }) => ({
        type: 'function' as const,
        function: { name, description, parameters, ...(isStrictSchema(parameters) && { strict: true }) },
      })),
      ...(request.toolChoice && request.toolChoice !== 'auto' && { tool_choice: toolChoice(request.toolChoice) }),
      ...(!request.parallelToolCalls && takesParallelSwitch(model) && { parallel_tool_calls: false }),
    }),
    ...(settings.maxOutputTokens !== null && {
      // OpenAI's reasoning models accept only the first name. The second is the one that all servers know.
      [reasons ? 'max_completion_tokens' : 'max_tokens']: settings.maxOutputTokens,
    }),
    ...(settings.temperature !== null && !reasons && { temperature: settings.temperature }),
    ...(settings.reasoningEffort && { reasoning_effort: effortOf(settings.reasoningEffort, model) }),
    ...(schema && {
      response_format: {
        type: 'json_schema' as const,
        json_schema: { name: 'answer', schema, strict: isStrictSchema(schema) },
      },
    }),
    messages: messagesOf(request),
  }
}

function toolChoice(choice: ToolChoice) {
  return typeof choice === 'string' ? choice : { type: 'function' as const, function: { name: choice.tool } }
}

/** System messages at the very beginning are added to the prompt, because templates of open models accept only one. */
function messagesOf(request: ModelRequest): ChatCompletionMessageParam[] {
  const messages = withWireIds(request.messages, 40)
  const first = messages.findIndex(({ role }) => role !== 'system')
  const head = first === -1 ? messages : messages.slice(0, first)
  const prompt = [systemPromptOf(request), ...head.map((message) => (message.role === 'system' ? message.text : ''))]
    .filter((text) => text !== '')
    .join('\n\n')
  const lastUser = messages.findLastIndex(({ role }) => role === 'user')
  return [
    ...(prompt !== '' ? [{ role: 'system' as const, content: prompt }] : []),
    ...pastMessages(messages.slice(head.length, lastUser + 1)),
    ...messages.slice(Math.max(head.length, lastUser + 1)).flatMap((message) => messageOf(message, request)),
  ]
}

/** Servers of open models may enforce the schema, but do not show it to the model. */
function systemPromptOf(request: ModelRequest): string {
  const { responseSchema } = request.settings
  const isTold = responseSchema === null || (isObjectSchema(responseSchema) && isOpenaiModel(modelName(request.model)))
  return isTold ? request.systemPrompt : promptWithSchema(request)
}

/** Messages before the last one of a user are the same in every request. */
const pastMessages = alongList(
  (): ChatCompletionMessageParam[] => [],
  (made, message: ModelMessage) => {
    made.push(...messageOf(message, null))
    return made
  },
)

/** `request` is null for messages before the last one of a user. */
function messageOf(message: ModelMessage, request: ModelRequest | null): ChatCompletionMessageParam[] {
  switch (message.role) {
    case 'user':
      return [{ role: 'user', content: contentOf(message.content) }]
    case 'system':
      return [{ role: 'system', content: message.text }]
    case 'assistant':
      return assistantOf(message.parts, request)
    case 'tool':
      return [
        ...message.returns.map((one) => ({
          role: 'tool' as const,
          tool_call_id: one.callId,
          content: returnText(one) || (returnContent(one) ? shownBelow : ''),
        })),
        ...messageOfMedia(message.returns),
      ]
    default:
      return message satisfies never
  }
}

const shownBelow = 'The result is shown in the next message.'

/** In this format a tool can only return text. Other content follows in a message of its own. */
function messageOfMedia(returns: readonly ModelToolReturn[]): ChatCompletionMessageParam[] {
  const content = returnedMedia(returns)
  return content.length > 0 ? [{ role: 'user', content: content.map(partOf) }] : []
}

function contentOf(content: readonly ModelContent[]): string | ChatCompletionContentPart[] {
  if (content.every((part) => 'text' in part)) return content.map(({ text }) => text).join('\n')
  return content.map(partOf)
}

function partOf(part: ModelContent): ChatCompletionContentPart {
  if ('text' in part) return { type: 'text', text: part.text }
  if ('image' in part) return { type: 'image_url', image_url: { url: mediaUrl(part.image) } }
  // The format has no field for the URL of a document.
  if ('url' in part.document) return { type: 'text', text: `[document at ${part.document.url}]` }
  return { type: 'file', file: { filename: fileName(part.document), file_data: mediaUrl(part.document) } }
}

function assistantOf(
  parts: readonly AssistantPart[],
  request: ModelRequest | null,
): ChatCompletionAssistantMessageParam[] {
  const text = parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
  const calls = parts.flatMap((part) => (part.type === 'call' ? [part] : []))
  if (text === '' && calls.length === 0) return []
  // Servers that have this field want it back while the calls of that answer are being answered, and only then.
  const thought = parts.flatMap((part) =>
    part.type === 'reasoning' && request && ownData(part, request)?.['field'] === 'reasoning_content'
      ? [part.text]
      : [],
  )
  return [
    {
      role: 'assistant',
      content: text === '' ? null : text,
      ...(calls.length > 0 && thought.length > 0 && { reasoning_content: thought.join('\n') }),
      ...(calls.length > 0 && {
        tool_calls: calls.map(({ callId, name, argumentsText: text }) => ({
          id: callId,
          type: 'function' as const,
          function: { name, arguments: argumentsText(text) },
        })),
      }),
    },
  ]
}
