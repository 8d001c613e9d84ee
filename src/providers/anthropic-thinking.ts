import type { ThinkingConfigParam } from '@anthropic-ai/sdk/resources/messages'

import type { ReasoningEffort } from '../domain/agent.ts'
import type { ModelRequest } from '../domain/model-request.ts'
import { claudeVersion } from './claude-version.ts'
import { modelName } from './models.ts'

/** From here on thinking needs no budget: the model decides. */
const adaptiveFrom = 4.6
/** From here on a request has thinking unless it says otherwise, and some models don't let it. */
const thinksFrom = 5
/** From here on a thinking block is taken back only where nothing before it has changed. */
const boundFrom = 5.1

/** Sent with `block_binding`, or the provider does not know that word. */
export const bindingBeta = 'thinking-binding-controls-2026-08-01'
/** Thinking between tool calls; part of adaptive thinking. */
export const interleavedBeta = 'interleaved-thinking-2025-05-14'

const budgets: Record<ReasoningEffort, number> = { MINIMAL: 1024, LOW: 2048, MEDIUM: 8192, HIGH: 16_384 }
const smallestBudget = 1024

export interface Thinking {
  readonly config: ThinkingConfigParam
  readonly effort: 'low' | 'medium' | 'high' | null
}

/** Undefined: the model is not to think, and takes back nothing that it thought before. */
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
  // Without `summarized` newer models think in silence. Memory blocks and compaction change what came before a block.
  const bound = version >= boundFrom && { block_binding: { prefix_mismatch_behavior: 'drop_block' } }
  const config: ThinkingConfigParam = { type: 'adaptive', display: 'summarized', ...bound }
  return { config, effort: reasoningEffort && effortOf(reasoningEffort) }
}

function effortOf(effort: ReasoningEffort): 'low' | 'medium' | 'high' {
  return effort === 'MINIMAL' ? 'low' : (effort.toLowerCase() as 'low' | 'medium' | 'high')
}

/**
 * With a budget, calls that are now answered must begin with thinking; where another model made them, or this one
 * without thinking, the turn must end as it began.
 */
function turnBeganWithoutThinking({ messages, model }: ModelRequest): boolean {
  const last = messages.at(-1)
  const turn = last?.role === 'tool' ? messages.findLast(({ role }) => role === 'assistant') : undefined
  if (turn?.role !== 'assistant') return false
  const [first] = turn.parts
  return first?.type !== 'reasoning' || first.provider?.model !== model
}
