import type { RunError } from '../runs/run.ts'

/** A model that failed, so that the next fallback was tried. */
export interface ModelFailure {
  readonly model: string
  readonly error: RunError
}

/**
 * Whether another model may answer when this one failed: it is overloaded, rate limited or unreachable. If the request
 * or the key is wrong, no other model is asked, because whoever set them should see the error.
 */
export function isUnavailable({ type, retryable }: RunError): boolean {
  return type === 'LLM_RATE_LIMIT' || type === 'LLM_TIMEOUT' || (type === 'LLM_ERROR' && retryable)
}
