import type { Block } from '../memory/block.ts'
import type { ModelRequest } from '../models/model-request.ts'
import type { RunError, StopReason } from '../runs/run.ts'
import { countTokens } from '../../util/tokens.ts'
import { weighTools, type RequestWeight } from './request-weight.ts'

export interface RunFailure {
  readonly stopReason: StopReason
  readonly error: RunError
}

/** The failure of a run that is not the fault of its input or its model. */
export function internalFailure(message: string): RunFailure {
  return { stopReason: 'ERROR', error: { type: 'INTERNAL_ERROR', message, detail: null, retryable: true } }
}

/** The error for a context that cannot be shortened further, with the size of each part. */
export function overflowOf(
  request: ModelRequest,
  blocks: readonly Block[],
  { weight, window }: { readonly weight: RequestWeight; readonly window: number },
): RunFailure {
  const inBlocks = blocks.map(({ label, value }) => ({ label, tokens: countTokens(value) }))
  const instructions = weight.systemPrompt - inBlocks.reduce((total, { tokens }) => total + tokens, 0)
  const parts = [
    `instructions ${instructions}`,
    ...inBlocks.map(({ label, tokens }) => `block ${label} ${tokens}`),
    ...request.tools.map((tool) => `tool ${tool.name} ${weighTools([tool])}`),
    `messages that must stay ${weight.messages}`,
  ]
  const detail = `In tokens, of ${window}: ${parts.join(', ')}.`
  if (weight.systemPrompt + weight.tools >= window) {
    return {
      stopReason: 'CONTEXT_WINDOW_OVERFLOW_IN_SYSTEM_PROMPT',
      error: {
        type: 'LLM_CONTEXT_WINDOW',
        message: `The system prompt with its tools takes ${weight.systemPrompt + weight.tools} tokens, and the context window is ${window}. Shorten the instructions or the memory blocks, or detach tools.`,
        detail,
        retryable: false,
      },
    }
  }
  return {
    stopReason: 'CONTEXT_WINDOW_OVERFLOW_IN_INPUT',
    error: {
      type: 'LLM_CONTEXT_WINDOW',
      message: `The context takes ${weight.total} tokens and cannot be made shorter; the context window is ${window}. Send less at once, or use a model with a larger window.`,
      detail,
      retryable: false,
    },
  }
}
