import type { ContentBlockParam, MessageCreateParamsStreaming, ToolChoice } from '@anthropic-ai/sdk/resources/messages'

import type { ModelRequest } from '../domain/models/model-request.ts'
import type { JsonObject } from '../util/json.ts'
import { anthropicMessages, type Turn } from './anthropic/anthropic-messages.ts'
import { bindingBeta, interleavedBeta, thinkingOf } from './anthropic-thinking.ts'
import { claudeVersion, takesSchemas, takesTemperature } from './anthropic/claude-version.ts'
import { modelName } from './models.ts'
import { isStrictSchema } from './openai/strict-schema.ts'
import { promptWithSchema } from './wire.ts'

const ephemeral = { type: 'ephemeral' } as const
const mostStrictTools = 20

export function anthropicBody(request: ModelRequest): MessageCreateParamsStreaming {
  const { settings, tools } = request
  const model = modelName(request.model)
  const maxTokens = settings.maxOutputTokens ?? (claudeVersion(model) < 4 ? 4096 : 32_000)
  const thinking = thinkingOf(request, maxTokens)
  // Anthropic refuses a schema that it cannot enforce.
  const isNative = takesSchemas(model) && isStrictSchema(settings.responseSchema)
  const schema = isNative ? (settings.responseSchema as JsonObject) : null
  const prompt = settings.responseSchema !== null && !isNative ? promptWithSchema(request) : request.systemPrompt
  let strictTools = 0
  return {
    model,
    max_tokens: maxTokens,
    stream: true,
    ...(thinking && { thinking: thinking.config }),
    ...((thinking?.effort || schema) && {
      output_config: {
        ...(thinking?.effort && { effort: thinking.effort }),
        ...(schema && { format: { type: 'json_schema' as const, schema } }),
      },
    }),
    ...(settings.temperature !== null && !thinking && takesTemperature(model) && { temperature: settings.temperature }),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, parameters }) => {
        const strict = takesSchemas(model) && isStrictSchema(parameters) && ++strictTools <= mostStrictTools
        return {
          name,
          ...(description !== '' && { description }),
          input_schema: { ...parameters, type: 'object' as const },
          ...(strict && { strict }),
        }
      }),
      tool_choice: toolChoice(request, { thinks: thinking !== undefined }),
    }),
    // This mark covers the tools too, because they come before the prompt. The one on the last message covers the
    // exchange.
    ...(prompt.trim() !== '' && {
      system: [{ type: 'text' as const, text: prompt, cache_control: ephemeral }],
    }),
    messages: withCacheMark(anthropicMessages(request, { thinks: thinking !== undefined })),
  }
}

/** A model that thinks cannot be forced to call a tool. It is given only the allowed tools, and chooses. */
function toolChoice(request: ModelRequest, { thinks }: { readonly thinks: boolean }): ToolChoice {
  const choice = thinks ? 'auto' : (request.toolChoice ?? 'auto')
  const single = !request.parallelToolCalls && { disable_parallel_tool_use: true }
  if (choice === 'auto') return { type: 'auto', ...single }
  return choice === 'required' ? { type: 'any', ...single } : { type: 'tool', name: choice.tool, ...single }
}

function withCacheMark(turns: readonly Turn[]): Turn[] {
  return turns.map((turn, place) => {
    if (place < turns.length - 1) return turn
    const last = { ...turn.content.at(-1)!, cache_control: ephemeral } as ContentBlockParam
    return { ...turn, content: [...turn.content.slice(0, -1), last] }
  })
}

/** Beta features of a request, which must be announced in a header. */
export function betasOf({ thinking }: MessageCreateParamsStreaming): string[] {
  return [
    ...(thinking?.type === 'enabled' ? [interleavedBeta] : []),
    ...(thinking && 'block_binding' in thinking ? [bindingBeta] : []),
  ]
}
