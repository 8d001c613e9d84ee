import type { ThinkingConfigParam } from '@anthropic-ai/sdk/resources/messages'

import type { ReasoningEffort } from '../domain/agent.ts'
import type { ModelRequest } from '../domain/models/model-request.ts'
import { claudeVersion } from './anthropic/claude-version.ts'
import { modelName } from './models.ts'

/** From this version on, thinking needs no budget: the model decides. */
const adaptiveFrom = 4.6
/** From this version on, models think unless the request says otherwise, and some cannot be told not to. */
const thinksFrom = 5
/** From this version on, a thinking block is accepted again only if nothing before it has changed. */
const boundFrom = 5.1

/** Must be sent with `block_binding`, which is unknown to the provider otherwise. */
export const bindingBeta = 'thinking-binding-controls-2026-08-01'
/** Thinking between tool calls. Included in adaptive thinking. */
export const interleavedBeta = 'interleaved-thinking-2025-05-14'

const budgets: Record<ReasoningEffort, number> = { MINIMAL: 1024, LOW: 2048, MEDIUM: 8192, HIGH: 16_384 }
const smallestBudget = 1024

export interface Thinking {
  readonly config: ThinkingConfigParam
  readonly effort: 'low' | 'medium' | 'high' | null
}

/** Undefined if the model must not think. Then it does not accept its earlier thinking either. */
export function thinkingOf(request: ModelRequest, maxTokens: number): Thinking | undefined {
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
  return effort === 'MINIMAL' ? 'low' : (effort.toLowerCase() as 'low' | 'medium' | 'high')
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
