import type {
  ResponseCreateParamsStreaming,
  ResponseInputContent,
  ResponseInputItem,
} from 'openai/resources/responses/responses'

import type { ModelContent } from '../../domain/context/model-content.ts'
import type { AssistantPart, ModelMessage, ModelRequest, ToolChoice } from '../../domain/models/model-request.ts'
import { textIn, type JsonObject } from '../../util/json.ts'
import { modelName } from '../models.ts'
import { effortOf, isReasoningModel, takesParallelSwitch } from './openai-model.ts'
import { ownData } from '../reasoning.ts'
import { isStrictSchema } from './strict-schema.ts'
import {
  argumentsText,
  fileName,
  isObjectSchema,
  mediaUrl,
  promptWithSchema,
  returnContent,
  returnText,
  withWireIds,
} from '../wire.ts'

/** The parts that change least come first, so that OpenAI's prompt cache is used. */
export function responsesBody(request: ModelRequest): ResponseCreateParamsStreaming {
  const { settings, tools } = request
  const model = modelName(request.model)
  const reasons = isReasoningModel(model)
  const schema = isObjectSchema(settings.responseSchema) ? settings.responseSchema : null
  const prompt = settings.responseSchema !== null && !schema ? promptWithSchema(request) : request.systemPrompt
  return {
    model,
    stream: true,
    store: false,
    ...(prompt !== '' && { instructions: prompt }),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, parameters }) => ({
        type: 'function' as const,
        name,
        description,
        parameters,
        strict: isStrictSchema(parameters),
      })),
      tool_choice: toolChoice(request.toolChoice),
      ...(!request.parallelToolCalls && takesParallelSwitch(model) && { parallel_tool_calls: false }),
    }),
    ...(settings.maxOutputTokens !== null && { max_output_tokens: settings.maxOutputTokens }),
    ...(settings.temperature !== null && !reasons && { temperature: settings.temperature }),
    ...(reasons && {
      include: ['reasoning.encrypted_content' as const],
      reasoning: {
        summary: 'auto' as const,
        ...(settings.reasoningEffort && { effort: effortOf(settings.reasoningEffort, model) }),
      },
    }),
    ...(schema && {
      text: { format: { type: 'json_schema' as const, name: 'answer', schema, strict: isStrictSchema(schema) } },
    }),
    input: withWireIds(request.messages, 64).flatMap((message) => itemsOf(message, request)),
  }
}

function toolChoice(choice: ToolChoice = 'auto') {
  return typeof choice === 'string' ? choice : { type: 'function' as const, name: choice.tool }
}

function itemsOf(message: ModelMessage, request: ModelRequest): ResponseInputItem[] {
  switch (message.role) {
    case 'user':
      return [{ role: 'user', content: message.content.map(contentOf) }]
    case 'system':
      return [{ role: 'developer', content: message.text }]
    case 'assistant':
      return message.parts.flatMap((part, place) => itemOf(part, message.parts.slice(place + 1), request))
    case 'tool':
      return message.returns.map((one) => ({
        type: 'function_call_output',
        call_id: one.callId,
        output: returnContent(one)?.map(contentOf) ?? returnText(one),
      }))
    default:
      return message satisfies never
  }
}

function contentOf(part: ModelContent): ResponseInputContent {
  if ('text' in part) return { type: 'input_text', text: part.text }
  if ('image' in part) return { type: 'input_image', image_url: mediaUrl(part.image), detail: 'auto' }
  if ('url' in part.document) return { type: 'input_file', file_url: part.document.url }
  return { type: 'input_file', filename: fileName(part.document), file_data: mediaUrl(part.document) }
}

function itemOf(part: AssistantPart, rest: readonly AssistantPart[], request: ModelRequest): ResponseInputItem[] {
  const data = ownData(part, request)
  if (part.type === 'text') {
    const phase = data?.['phase']
    const known = phase === 'commentary' || phase === 'final_answer'
    return [{ role: 'assistant', content: part.text, ...(known && { phase }) }]
  }
  if (part.type === 'call') {
    const { callId, name } = part
    return [{ type: 'function_call', call_id: callId, name, arguments: argumentsText(part.argumentsText) }]
  }
  // Reasoning is refused without the output that followed it. Without its encrypted text it would be looked up and not
  // found.
  const followed = rest.some(({ type }) => type !== 'reasoning')
  return followed && data?.['encrypted_content'] ? [reasoningItem(data)] : []
}

function reasoningItem(data: JsonObject): ResponseInputItem {
  const summary = Array.isArray(data['summary']) ? data['summary'] : []
  return {
    type: 'reasoning',
    id: textIn(data['id']),
    summary: summary.map((text) => ({ type: 'summary_text' as const, text: String(text) })),
    encrypted_content: textIn(data['encrypted_content']),
  }
}
