import type {
  ContentBlockParam,
  MessageCreateParamsStreaming,
  ThinkingConfigParam,
  ToolChoice,
} from '@anthropic-ai/sdk/resources/messages'

import type { ModelRequest } from '../../domain/models/model-request.ts'
import { isJsonObject } from '../../util/json.ts'
import { anthropicMessages, type Turn } from './anthropic-messages.ts'
import { claudeVersion, takesSchemas, takesTemperature } from './claude-version.ts'
import { modelName } from '../models.ts'
import { isStrictSchema } from '../openai/strict-schema.ts'
import { promptWithSchema } from '../wire.ts'
import type { ReasoningEffort } from '../../domain/models/model-settings.ts'

const ephemeral = { type: 'ephemeral' } as const
const mostStrictTools = 20

export function anthropicBody(request: ModelRequest): MessageCreateParamsStreaming {
  const { settings, tools } = request
  const model = modelName(request.model)
  const maxTokens = settings.maxOutputTokens ?? (claudeVersion(model) < 4 ? 4096 : 32_000)
  const thinking = thinkingOf(request, maxTokens)
  // Anthropic refuses a schema that it cannot enforce.
  const isNative = takesSchemas(model) && isStrictSchema(settings.responseSchema)
  const schema = isNative && isJsonObject(settings.responseSchema) ? settings.responseSchema : null
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

/** From this version on, thinking needs no budget: the model decides. */
const adaptiveFrom = 4.6
/** From this version on, models think unless the request says otherwise, and some cannot be told not to. */
const thinksFrom = 5
/** From this version on, a thinking block is accepted again only if nothing before it has changed. */
const boundFrom = 5.1

/** Must be sent with `block_binding`, which is unknown to the provider otherwise. */
const bindingBeta = 'thinking-binding-controls-2026-08-01'
/** Thinking between tool calls. Included in adaptive thinking. */
const interleavedBeta = 'interleaved-thinking-2025-05-14'

const budgets: Record<ReasoningEffort, number> = { MINIMAL: 1024, LOW: 2048, MEDIUM: 8192, HIGH: 16_384 }
const smallestBudget = 1024

interface Thinking {
  readonly config: ThinkingConfigParam
  readonly effort: 'low' | 'medium' | 'high' | null
}

/** Undefined if the model must not think. Then it does not accept its earlier thinking either. */
function thinkingOf(request: ModelRequest, maxTokens: number): Thinking | undefined {
  const { reasoningEffort, reasoningBudget } = request.settings
  const version = claudeVersion(modelName(request.model))
  const wanted = reasoningEffort !== null || reasoningBudget !== null
  if (version < adaptiveFrom) {
    const budget = Math.min(reasoningBudget ?? budgets[reasoningEffort ?? 'MEDIUM'], maxTokens - 1)
    if (!wanted || version === 0 || budget < smallestBudget || turnBeganWithoutThinking(request)) return undefined
    return { config: { type: 'enabled', budget_tokens: budget }, effort: null }
  }
  if (!wanted && version < thinksFrom) return undefined
  // Without `summarized`, newer models do not show their thinking. Memory blocks and compaction change what came before
  // a block.
  const bound = version >= boundFrom && { block_binding: { prefix_mismatch_behavior: 'drop_block' } }
  const config: ThinkingConfigParam = { type: 'adaptive', display: 'summarized', ...bound }
  return { config, effort: reasoningEffort && effortOf(reasoningEffort) }
}

function effortOf(effort: ReasoningEffort): 'low' | 'medium' | 'high' {
  return ({ MINIMAL: 'low', LOW: 'low', MEDIUM: 'medium', HIGH: 'high' } as const)[effort]
}

/**
 * With a budget, the assistant turn whose calls are being answered must begin with thinking. If another model made the
 * calls, or this one did so without thinking, the turn has to be finished without thinking.
 */
function turnBeganWithoutThinking({ messages, model }: ModelRequest): boolean {
  const last = messages.at(-1)
  const turn = last?.role === 'tool' ? messages.findLast(({ role }) => role === 'assistant') : undefined
  if (turn?.role !== 'assistant') return false
  const [first] = turn.parts
  return first?.type !== 'reasoning' || first.provider?.model !== model
}
