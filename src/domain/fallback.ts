import type { RunError } from './run.ts'

/** A model that failed, so that the next fallback was tried. */
export interface ModelFailure {
  readonly model: string
  readonly error: RunError
}

/**
 * Whether another model may answer where this one failed: it is overloaded, rate limited or unreachable. What is wrong
 * with the request or the key does not lead to another model: whoever set them should see the error.
 */
export function isUnavailable({ type, retryable }: RunError): boolean {
  return type === 'LLM_RATE_LIMIT' || type === 'LLM_TIMEOUT' || (type === 'LLM_ERROR' && retryable)
}
