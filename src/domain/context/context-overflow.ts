import type { Block } from '../memory/block.ts'
import type { ModelRequest } from '../models/model-request.ts'
import type { RunError, StopReason } from '../runs/run.ts'
import { countTokens, sum } from '../../util/tokens.ts'
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
  const instructions = weight.systemPrompt - sum(inBlocks, ({ tokens }) => tokens)
  const parts = [
    `instructions ${instructions}`,
    ...inBlocks.map(({ label, tokens }) => `block ${label} ${tokens}`),
    ...request.tools.map((tool) => `tool ${tool.name} ${weighTools([tool])}`),
    `messages that must stay ${weight.messages}`,
  ]
  const detail = `In tokens, of ${window}: ${parts.join(', ')}.`
  const failure = (stopReason: StopReason, message: string): RunFailure => ({
    stopReason,
    error: { type: 'LLM_CONTEXT_WINDOW', message, detail, retryable: false },
  })
  const fixed = weight.systemPrompt + weight.tools
  return fixed >= window
    ? failure(
        'CONTEXT_WINDOW_OVERFLOW_IN_SYSTEM_PROMPT',
        `The system prompt with its tools takes ${fixed} tokens, and the context window is ${window}. Shorten the instructions or the memory blocks, or detach tools.`,
      )
    : failure(
        'CONTEXT_WINDOW_OVERFLOW_IN_INPUT',
        `The context takes ${weight.total} tokens and cannot be made shorter; the context window is ${window}. Send less at once, or use a model with a larger window.`,
      )
}
