import type { FailureKind } from './fake-model.ts'
import type { Refusal } from './fake-server.ts'

export function invalid(message: string): Refusal {
  return { status: 400, body: { type: 'error', error: { type: 'invalid_request_error', message } } }
}

const errors: Record<FailureKind, readonly [status: number, type: string, message: string]> = {
  'rate limit': [429, 'rate_limit_error', 'This request would exceed your rate limit.'],
  authentication: [401, 'authentication_error', 'invalid x-api-key'],
  'bad request': [400, 'invalid_request_error', 'messages.0: something is wrong with it'],
  context: [400, 'invalid_request_error', 'prompt is too long: 1200000 tokens > 1000000 maximum'],
  overload: [529, 'overloaded_error', 'Overloaded'],
  server: [500, 'api_error', 'Internal server error'],
  'unknown model': [404, 'not_found_error', 'model: no-such-model'],
}

export function anthropicError(kind: FailureKind, headers?: Record<string, string>): Refusal {
  const [status, type, message] = errors[kind]
  return { status, body: { type: 'error', error: { type, message } }, ...(headers && { headers }) }
}

export function anthropicErrorEvent(kind: FailureKind): object {
  return anthropicError(kind).body as object
}
